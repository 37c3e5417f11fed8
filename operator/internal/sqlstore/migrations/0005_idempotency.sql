-- What was answered to a call under an idempotency key, for as long as the same
-- answer is given again. Only the key's digest is stored.
create table reeve_idempotency (
  id         {{pk}},
  account_id {{int}} not null references reeve_accounts (id),
  project_id {{int}} not null references reeve_projects (id),
  principal  text not null,
  key_digest text not null check (length(key_digest) = 64),
  request    text not null check (length(request) = 64),
  answer     text not null,
  status     {{int}} not null,
  audit_id   {{int}}, -- has to be sealed before the answer is given
  created_at {{int}} not null,
  expires_at {{int}} not null,
  unique (project_id, principal, key_digest),
  check (expires_at > created_at),
  check ((answer = '') = (status = 0))
){{strict}};
create index reeve_idempotency_ends on reeve_idempotency (expires_at);
