-- A vote belongs to the time for which somebody is on the list of people: who was
-- removed and comes back by the same handle votes anew, once. member_from is the
-- voter's votes_from when they voted; it tells those times apart, since it moves past
-- every decision there was.
alter table reeve_decisions add column member_from {{int}} not null default 0;
update reeve_decisions set member_from = (select h.votes_from from reeve_people h where h.id = reeve_decisions.person_id)
  where person_id is not null and id > (select h.votes_from from reeve_people h where h.id = reeve_decisions.person_id);
drop index reeve_decisions_vote;
create unique index reeve_decisions_vote on reeve_decisions (intent_id, person_id, member_from) where status = 'approved' and intent_id is not null;

-- What no transaction can enclose is begun under its key in one of its own. It may be
-- running until this moment; after it nobody knows how far it came. Null once it has an
-- answer, and for what one transaction encloses.
alter table reeve_idempotency add column runs_until {{int}} check (runs_until is null or answer = '');
