-- What others let a principal do beside its credential: the account's kit, the
-- spending grants of its people, and the calls that wait for a person.

-- An account without a row has the kit that every account begins with.
create table reeve_kits (
  account_id {{int}} not null primary key references reeve_accounts (id),
  name       text not null,
  primitives text not null, -- {"name": true|false}, of the closed list
  tools      text not null,
  toolkits   text not null,
  updated_at {{int}} not null,
  updated_by text not null
){{strict}};

-- A person pressed Start: this principal may spend, so far and so long. used is the
-- sum of its uses that are not released.
create table reeve_spending_grants (
  id          {{pk}},
  account_id  {{int}} not null references reeve_accounts (id),
  person_id   {{int}} not null references reeve_people (id),
  principal   text not null,
  currency    text not null, -- empty: without a limit
  limit_cents {{int}} check (limit_cents between 1 and 9007199254740991),
  used        {{int}} not null default 0 check (used >= 0),
  until       {{int}} not null,
  reason      text not null,
  via         text not null,
  created_at  {{int}} not null,
  revoked_at  {{int}},
  revoked_by  text,
  check (until > created_at),
  check ((limit_cents is null) = (currency = '')),
  check (limit_cents is null or used <= limit_cents),
  check ((revoked_at is null) = (revoked_by is null))
){{strict}};
create index reeve_spending_grants_live on reeve_spending_grants (account_id, principal) where revoked_at is null;

-- What one call holds of a grant. held: nobody knows whether it was spent.
create table reeve_spending_uses (
  id          {{pk}},
  grant_id    {{int}} not null references reeve_spending_grants (id),
  call_id     text not null,
  action      text not null,
  args_digest text not null,
  cents       {{int}} not null check (cents between 1 and 9007199254740991),
  state       text not null check (state in ('reserved', 'spent', 'held', 'released')),
  created_at  {{int}} not null,
  updated_at  {{int}} not null,
  unique (call_id, grant_id)
){{strict}};
create index reeve_spending_uses_grant on reeve_spending_uses (grant_id, id);

-- A call that only a person may complete, kept as data until one decides it. It is
-- carried out by the decision, once: approved says that this has begun.
create table reeve_parked (
  id            {{pk}},
  account_id    {{int}} not null references reeve_accounts (id),
  project_id    {{int}} not null references reeve_projects (id),
  tool          text not null,
  arguments     text not null,
  principal     text not null,
  credential_id {{int}} not null references reeve_credentials (id),
  digest        text not null, -- of tool, arguments and principal
  title         text not null,
  status        text not null check (status in ('pending', 'rejected', 'expired', 'approved', 'done', 'failed', 'unknown')),
  expires_at    {{int}} not null,
  created_at    {{int}} not null,
  decided_by    text,
  decided_via   text,
  decided_at    {{int}},
  note          text not null default '',
  result        text,
  refused_for   text,
  updated_at    {{int}} not null,
  check ((decided_by is null) = (status in ('pending', 'expired'))),
  check ((decided_by is null) = (decided_at is null)),
  check ((result is not null) = (status = 'done'))
){{strict}};
create unique index reeve_parked_pending on reeve_parked (project_id, principal, digest) where status = 'pending';
create index reeve_parked_page on reeve_parked (project_id, id);
create index reeve_parked_lapsing on reeve_parked (expires_at) where status = 'pending';
create index reeve_parked_begun on reeve_parked (decided_at) where status = 'approved';
