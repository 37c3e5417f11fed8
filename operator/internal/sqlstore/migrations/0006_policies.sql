-- The policy belongs to the account. A row is never changed: a policy that takes the
-- place of another is the next row, and the newest one of an account holds. Without
-- a row the default policy does.

create table reeve_policies (
  id          {{pk}},
  account_id  {{int}} not null references reeve_accounts (id),
  seq         {{int}} not null check (seq >= 1), -- 1, 2, 3… within the account
  version     text not null, -- as the gate names it; empty where the row was made of an older database
  digest      text not null, -- the gate's, of what the rules mean; likewise
  sum         text not null check (length(sum) = 64), -- SHA-256 of the text
  file        text not null,
  text        text not null, -- as it was loaded
  loaded_at   {{int}} not null,
  loaded_by   text not null,
  via         text not null,
  accepted    text not null default '[]', -- what it loosened and somebody accepted
  accepted_by text,
  unique (account_id, seq),
  check ((accepted_by is null) = (accepted = '[]'))
){{strict}};

-- What held for the whole database holds for every account that there is, also where
-- it cannot be read: nothing must be judged by anything milder. What stands in the
-- settings stays until a policy is loaded: a process of before this schema goes on
-- judging by it.
insert into reeve_policies (account_id, seq, version, digest, sum, file, text, loaded_at, loaded_by, via)
  select a.id, 1, '', '', case when length(h.sum) = 64 then h.sum else '0000000000000000000000000000000000000000000000000000000000000000' end,
    '', h.text, h.at, 'local:database', 'library'
  from reeve_accounts a, (select
    coalesce((select value from reeve_settings where name = 'policy'), '') as text,
    coalesce((select value from reeve_settings where name = 'policy_sha256'), '') as sum,
    coalesce((select updated_at from reeve_settings where name = 'policy'), 0) as at) h
  where h.text <> '' or h.sum <> '';

-- What was denied is looked through before a policy that loosens is loaded.
create index reeve_intents_denied on reeve_intents (project_id, id) where policy_decision = 'deny';
