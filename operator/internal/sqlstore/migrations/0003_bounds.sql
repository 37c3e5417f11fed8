-- What bounds an account beyond its policy: budgets, standing approvals, freezes.

-- Votes up to this decision are those of whoever had the handle before.
alter table reeve_people add column votes_from {{int}} not null default 0;

-- What one budget holds in one window. used is the sum of its reservations that
-- are not released.
create table reeve_budgets (
  id         {{pk}},
  account_id {{int}} not null references reeve_accounts (id),
  rule       text not null, -- empty: a cap of the policy
  span       text not null check (span in ('day', 'week', 'month', 'year')),
  starts     text not null, -- the window's name: 2026-03-08, 2026-W10, 2026-03, 2026
  currency   text not null,
  holder     text not null, -- empty: the whole account; else a principal
  used       {{int}} not null check (used between 0 and 9007199254740991),
  updated_at {{int}} not null,
  unique (account_id, rule, span, starts, currency, holder)
){{strict}};

-- What an intent holds of a budget. held: nobody knows whether it was spent.
create table reeve_reservations (
  id         {{pk}},
  intent_id  {{int}} not null references reeve_intents (id),
  budget_id  {{int}} not null references reeve_budgets (id),
  cents      {{int}} not null check (cents between 1 and 9007199254740991),
  state      text not null check (state in ('reserved', 'held', 'settled', 'released')),
  created_at {{int}} not null,
  updated_at {{int}} not null,
  unique (intent_id, budget_id)
){{strict}};
create index reeve_reservations_budget on reeve_reservations (budget_id, id);

-- A person's own bounded allow.
create table reeve_standing (
  id           {{pk}},
  account_id   {{int}} not null references reeve_accounts (id),
  project_id   {{int}} not null references reeve_projects (id),
  person_id    {{int}} not null references reeve_people (id),
  via          text not null,
  types        text not null,
  recipients   text not null,
  currency     text not null,
  max_cents    {{int}} check (max_cents between 1 and 9007199254740991),
  span         text not null check (span in ('', 'day', 'week', 'month', 'year')),
  span_cents   {{int}} check (span_cents between 1 and 9007199254740991),
  instead_of   text not null,
  reason       text not null,
  until        {{int}} not null,
  created_at   {{int}} not null,
  revoked_at   {{int}},
  revoked_by   text,
  check (until > created_at),
  check ((max_cents is null) = (currency = '')),
  check ((span_cents is null) = (span = '')),
  check ((revoked_at is null) = (revoked_by is null))
){{strict}};
create index reeve_standing_live on reeve_standing (project_id, id) where revoked_at is null;

-- While a freeze stands, no outward intent of its reach is claimed. No project: the
-- whole account.
create table reeve_freezes (
  id         {{pk}},
  account_id {{int}} not null references reeve_accounts (id),
  project_id {{int}} references reeve_projects (id),
  reason     text not null,
  frozen_by  text not null,
  frozen_at  {{int}} not null,
  lifted_by  text,
  lifted_at  {{int}},
  check ((lifted_at is null) = (lifted_by is null))
){{strict}};
create unique index reeve_freezes_account on reeve_freezes (account_id) where lifted_at is null and project_id is null;
create unique index reeve_freezes_project on reeve_freezes (project_id) where lifted_at is null and project_id is not null;
