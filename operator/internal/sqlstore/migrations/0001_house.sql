-- One text for both databases. {{pk}} is an integer key that the database counts
-- up, {{int}} a 64-bit integer, {{strict}} ends a table. Times are microseconds
-- since 1970 UTC; lists and objects are canonical JSON.

create table reeve_accounts (
  id             {{pk}},
  slug           text not null unique,
  zone           text not null,
  currency       text not null,
  evidence_level text not null default 'supported'
                 check (evidence_level in ('presence', 'supported', 'bound', 'strict')),
  inside         text not null default '[]', -- the account's own addresses and domains
  created_at     {{int}} not null
){{strict}};

create table reeve_projects (
  id         {{pk}},
  uid        text not null unique,
  account_id {{int}} not null references reeve_accounts (id),
  slug       text not null,
  created_at {{int}} not null,
  unique (account_id, slug)
){{strict}};

-- The allowlist: who may act as a person in an account.
create table reeve_people (
  id         {{pk}},
  account_id {{int}} not null references reeve_accounts (id),
  handle     text not null,
  name       text not null,
  role       text not null check (role in ('owner', 'admin', 'member')),
  created_at {{int}} not null,
  removed_at {{int}},
  unique (account_id, handle)
){{strict}};

-- Accounts elsewhere (a chat's user id) that a channel may vouch for.
create table reeve_links (
  id          {{pk}},
  account_id  {{int}} not null references reeve_accounts (id),
  person_id   {{int}} not null references reeve_people (id),
  service     text not null,
  external_id text not null,
  created_at  {{int}} not null,
  unique (account_id, service, external_id)
){{strict}};

create table reeve_credentials (
  id           {{pk}},
  uid          text not null unique,
  account_id   {{int}} not null references reeve_accounts (id),
  project_id   {{int}} not null references reeve_projects (id),
  kind         text not null check (kind in ('human', 'agent', 'worker', 'channel')),
  name         text not null,
  person_id    {{int}} references reeve_people (id),
  scopes       text not null,
  interactive  {{int}} not null check (interactive in (0, 1)),
  hash         text not null unique,
  instance_id  text not null unique,
  created_at   {{int}} not null,
  expires_at   {{int}} not null,
  revoked_at   {{int}},
  last_used_at {{int}},
  check (kind <> 'human' or person_id is not null),
  check (expires_at > created_at)
){{strict}};
create unique index reeve_credentials_name on reeve_credentials (account_id, kind, name) where revoked_at is null;
create index reeve_credentials_person on reeve_credentials (person_id) where person_id is not null;

create table reeve_intents (
  id              {{pk}},
  project_id      {{int}} not null references reeve_projects (id),
  day             text not null,
  idempotency_key text not null,
  digest          text not null,
  -- 1: owner of its key for the day. 0: made of another one by a person's act,
  -- while the key was taken.
  original        {{int}} not null default 1 check (original in (0, 1)),
  type            text not null,
  title           text not null,
  recipient       text not null,
  amount_cents    {{int}} check (amount_cents between 1 and 9007199254740991),
  currency        text not null,
  body            text not null,
  labels          text not null,
  tainted_by      text not null,
  data            text not null,
  status          text not null check (status in ('allowed', 'pending_approval', 'denied', 'approved', 'rejected',
                    'cancelled', 'superseded', 'expired', 'executing', 'unknown', 'succeeded', 'failed')),
  policy_decision text not null check (policy_decision in ('allow', 'requires_approval', 'deny')),
  policy_reasons  text not null,
  policy_rules    text not null,
  policy_version  text not null,
  quorum          {{int}} not null default 1 check (quorum >= 1),
  approvers       text not null,
  recorded_by     text not null,
  recorded_kind   text not null,
  run_id          text,
  decision_id     {{int}},
  decided_by      text,
  decided_at      {{int}},
  expires_at      {{int}},
  claimed_from    text check (claimed_from in ('approved', 'allowed')),
  lease_holder    text,
  lease_until     {{int}},
  lease_retries   {{int}} check (lease_retries in (0, 1)),
  fencing_token   {{int}} not null default 0,
  outcome         text,
  supersedes      {{int}} references reeve_intents (id),
  superseded_by   {{int}} references reeve_intents (id),
  reissues        {{int}} references reeve_intents (id),
  reissued_as     {{int}} references reeve_intents (id),
  settled_by      text,
  settled_at      {{int}},
  created_at      {{int}} not null,
  updated_at      {{int}} not null,
  -- Columns that only make sense together.
  check ((settled_at is not null) = (status in ('denied', 'rejected', 'expired', 'cancelled', 'superseded', 'succeeded', 'failed'))),
  check ((status = 'executing') = (lease_until is not null)),
  check ((status in ('pending_approval', 'approved', 'allowed')) <= (expires_at is not null)),
  check ((amount_cents is null) or (currency <> ''))
){{strict}};
create unique index reeve_intents_key on reeve_intents (project_id, day, idempotency_key) where original = 1;
create index reeve_intents_acts on reeve_intents (project_id, day, idempotency_key) where original = 0;
create index reeve_intents_twins on reeve_intents (project_id, idempotency_key, settled_at)
  where status in ('pending_approval', 'approved', 'allowed', 'executing', 'unknown', 'succeeded', 'expired', 'cancelled');
create index reeve_intents_page on reeve_intents (project_id, id);
create index reeve_intents_waiting on reeve_intents (project_id, id) where status = 'pending_approval' or status = 'unknown';
create index reeve_intents_ready on reeve_intents (project_id, id) where status in ('approved', 'allowed');
create index reeve_intents_lapsing on reeve_intents (expires_at) where status in ('pending_approval', 'approved', 'allowed');
create index reeve_intents_leased on reeve_intents (lease_until) where status = 'executing';

-- The board's decisions. One that a person's act on an intent made names it.
create table reeve_decisions (
  id             {{pk}},
  project_id     {{int}} not null references reeve_projects (id),
  intent_id      {{int}} references reeve_intents (id),
  title          text not null,
  status         text not null check (status in ('pending', 'approved', 'rejected', 'parked')),
  made_by        text not null,
  updated_by     text not null,
  person_id      {{int}} references reeve_people (id),
  via            text not null,
  digest         text not null,
  policy_version text not null,
  note           text not null,
  created_at     {{int}} not null,
  updated_at     {{int}} not null,
  check ((intent_id is null) = (digest = '')),
  check (status <> 'approved' or person_id is not null)
){{strict}};
create unique index reeve_decisions_vote on reeve_decisions (intent_id, person_id) where status = 'approved' and intent_id is not null;
create index reeve_decisions_page on reeve_decisions (project_id, id);
create index reeve_decisions_intent on reeve_decisions (intent_id, id) where intent_id is not null;

create table reeve_comments (
  id         {{pk}},
  project_id {{int}} not null references reeve_projects (id),
  intent_id  {{int}} references reeve_intents (id),
  author     text not null,
  kind       text not null check (kind in ('human', 'agent', 'worker')),
  person_id  {{int}} references reeve_people (id),
  via        text not null,
  body       text not null,
  created_at {{int}} not null,
  deleted_at {{int}},
  check (kind <> 'human' or person_id is not null)
){{strict}};
create index reeve_comments_page on reeve_comments (project_id, id);
create index reeve_comments_intent on reeve_comments (intent_id, id) where intent_id is not null;

create table reeve_audit (
  id             {{pk}},
  account_id     {{int}},
  project_id     {{int}},
  at             {{int}} not null,
  principal      text not null,
  kind           text not null,
  via            text not null,
  action         text not null,
  args_digest    text not null,
  verdict        text not null check (verdict in ('done', 'deny', 'park', 'unavailable', 'attest')),
  reason         text not null,
  layer          text not null,
  intent_id      {{int}},
  digest         text not null,
  policy_version text not null,
  outcome        text not null,
  request_id     text not null,
  check ((verdict = 'done') = (reason = ''))
){{strict}};
create index reeve_audit_page on reeve_audit (project_id, id);
create index reeve_audit_repeat on reeve_audit (account_id, principal, action, reason, at) where verdict = 'deny';
create index reeve_audit_intent on reeve_audit (intent_id, id) where intent_id is not null;

-- What processes on one database have to agree about.
create table reeve_settings (
  name       text not null primary key,
  value      text not null,
  updated_at {{int}} not null
){{strict}};

create table reeve_outbox (
  id           {{pk}},
  account_id   {{int}} not null references reeve_accounts (id),
  project_id   {{int}} not null references reeve_projects (id),
  topic        text not null,
  message_key  text not null unique,
  payload      text not null,
  created_at   {{int}} not null,
  next_at      {{int}} not null,
  attempts     {{int}} not null default 0,
  held_by      text,
  held_until   {{int}},
  last_error   text,
  delivered_at {{int}},
  dead_at      {{int}}
){{strict}};
create index reeve_outbox_due on reeve_outbox (next_at, id) where delivered_at is null and dead_at is null;
