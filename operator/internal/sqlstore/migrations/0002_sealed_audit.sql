-- The record is sealed. A row carries the leaf of its content from the moment it
-- is written, and gets its place (1, 2, 3…) in its account's log from a sealer. A
-- row of before, without a leaf, gets one when it is sealed. Rows that belong to
-- no account are the log of account 0.

alter table reeve_audit add column status_from text not null default '';
alter table reeve_audit add column status_to text not null default '';
alter table reeve_audit add column policy_decision text not null default '';
alter table reeve_audit add column leaf text not null default '' check (leaf = '' or length(leaf) = 64);
alter table reeve_audit add column seq {{int}} check (seq >= 1);
create index reeve_audit_unsealed on reeve_audit ((coalesce(account_id, 0)), id) where seq is null;
create unique index reeve_audit_sealed on reeve_audit ((coalesce(account_id, 0)), seq) where seq is not null;

-- The row of the record by which an intent became approved: it has to be sealed
-- before the intent is carried out.
alter table reeve_intents add column approval_audit_id {{int}};

-- What was approved or allowed before says so in the new words, too.
update reeve_audit set status_from = 'pending_approval', status_to = 'approved'
  where outcome = 'pending_approval -> approved' and kind = 'human';
update reeve_audit set status_to = 'allowed', policy_decision = 'allow' where outcome = '-> allowed';
update reeve_intents set approval_audit_id = (select max(a.id) from reeve_audit a
  where a.intent_id = reeve_intents.id and a.status_to = 'approved') where status in ('approved', 'executing');

-- Where each log stands: its size, the right edge of its tree, and the newest
-- checkpoint.
create table reeve_logs (
  account_id {{int}} not null primary key, -- or 0
  size       {{int}} not null check (size >= 0),
  edge       text not null,
  checkpoint text not null,
  sealed_at  {{int}} not null,
  check ((size = 0) = (checkpoint = ''))
){{strict}};

-- The public halves of the keys that seal. One of them does now.
create table reeve_audit_keys (
  id           {{pk}},
  verifier_key text not null unique,
  added_at     {{int}} not null,
  retired_at   {{int}},
  active       {{int}} unique check (active = 1),
  check ((active is null) = (retired_at is not null))
){{strict}};

-- The checkpoints under which a log was handed over from one key to the next. Any
-- other one follows from the tree.
create table reeve_checkpoints (
  account_id {{int}} not null, -- or 0
  size       {{int}} not null check (size >= 1),
  note       text not null,
  from_key   text not null references reeve_audit_keys (verifier_key),
  to_key     text not null references reeve_audit_keys (verifier_key),
  at         {{int}} not null,
  primary key (account_id, size)
){{strict}};
