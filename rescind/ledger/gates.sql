-- Approvals: of points of no return, used up by begin, and of an undo after the fact, used up by its claim.

create table if not exists gate (
    key     text collate "C" primary key,                  -- the effect's, or an undo's (undo_question)
    saga    text collate "C" not null references saga,
    digest  text        not null,                          -- of tool, request and key: what is approved
    run     text        not null,                          -- the Temporal run that has asked, and may use it
    shown   jsonb       not null,                          -- step, workflow, tool and request, for people
    people  int         not null,                          -- how many different people it takes
    lasts   float8      not null,                          -- seconds to answer in, and again to begin in
    asked   timestamptz not null,
    until   timestamptz not null,
    given   jsonb       not null default '[]',             -- who, why, when and word of each approval
    refused jsonb,                                         -- the same of a rejection
    state   text        not null check (state in ('waiting', 'granted', 'used', 'rejected', 'expired'))
);

alter table gate add column if not exists
    past    text[]      not null default '{}';             -- the words on earlier questions of this key

create index if not exists gate_waiting on gate (saga) where state = 'waiting';

create or replace function gate_answer(this gate) returns jsonb language sql volatile as $$
    select jsonb_build_object('answer', 'gate', 'state', this.state, 'given', this.given, 'refused', this.refused,
        'people', this.people, 'left', seconds_until(this.until))
$$;

create or replace function is_late(this gate) returns boolean language sql volatile as $$
    select this.state in ('waiting', 'granted') and this.until <= clock_timestamp()
$$;

-- The key of the question whether a saga is undone after the fact: keys have no namespace.
create or replace function undo_question(saga_id text) returns text language sql immutable as $$
    select substr(saga_id, strpos(saga_id, '/') + 1) || '/undo'
$$;

-- Whether this may be asked now: a step's question while the saga is open, an undo's when it is committed.
create or replace function may_be_asked(this saga, effect_key text) returns boolean language sql immutable as $$
    select this.state = case effect_key when undo_question(this.id) then 'committed' else 'open' end
$$;

-- The end of each statement on a gate: the row, and a line with what is new in it.
create or replace function store_gate(line_event text, entered saga, this saga, was gate, become gate)
returns jsonb language plpgsql as $$
begin
    insert into gate select become.*
    on conflict (key) do update set
        digest = become.digest, run = become.run, shown = become.shown, people = become.people,
        lasts = become.lasts, asked = become.asked, until = become.until, given = become.given,
        refused = become.refused, state = become.state, past = become.past;
    perform store(line_event, entered, this, null, null, jsonb_build_object(
        'gate', become.key, 'approval', changes(to_jsonb(was), to_jsonb(become) - 'key' - 'saga')));
    return gate_answer(become);
end $$;

-- The ids of the words on a question.
create or replace function words_on(this gate) returns text[] language sql immutable as $$
    select coalesce(array_agg(said ->> 'word'), '{}')
    from jsonb_array_elements(this.given || coalesce(this.refused, '[]')) as said
$$;

-- Ask people. What stands already needs nobody; an answer to the same question of this run, or one that is not used
-- up, holds; a question that has changed, and one that another run has used up, is asked anew.
create or replace function ask(
    saga_id text, caller_epoch int, effect_key text, asking_run text, asked_digest text, needed int,
    seconds float8, for_people jsonb
) returns jsonb language plpgsql as $$
declare
    entered saga := enter(saga_id, caller_epoch);
    this saga := entered;
    was gate;
    become gate;
begin
    if not may_be_asked(this, effect_key) then
        return refused('saga_not_open', 'saga', this.state);
    elsif this.owner is null and sibling_in_doubt(saga_id) then
        return refused('sibling_in_doubt', 'saga', this.state);
    elsif (find_effect(saga_id, effect_key)).state = 'applied' then
        return jsonb_build_object('answer', 'gate', 'state', 'granted', 'given', '[]'::jsonb, 'refused', null,
            'people', needed, 'left', 0);
    end if;
    select * into was from gate where key = effect_key;
    if was.digest = asked_digest and not is_late(was)
        and (was.state in ('waiting', 'granted') or was.run = asking_run) then
        return gate_answer(was);
    end if;
    become := row(effect_key, saga_id, asked_digest, asking_run, for_people, needed, seconds, clock_timestamp(),
        in_seconds(seconds), '[]'::jsonb, null, 'waiting', was.past || words_on(was));
    if this.state = 'open' then
        this.owner := asking_run;
    end if;
    return store_gate('ask', entered, this, null, become);
end $$;

-- What became of a question; one that nobody has answered in time has expired by this.
create or replace function look_at_gate(saga_id text, caller_epoch int, effect_key text) returns jsonb
language plpgsql as $$
declare
    entered saga := enter(saga_id, caller_epoch);
    was gate;
    become gate;
begin
    select * into strict was from gate where key = effect_key and saga = saga_id;
    if not is_late(was) then
        return gate_answer(was);
    end if;
    become := was;
    become.state := 'expired';
    return store_gate('expire', entered, entered, was, become);
end $$;

-- A person's word. It is taken once by its id: said again because its answer was lost, it is answered by the state of
-- now, and opens no later question.
create or replace function decide(
    saga_id text, caller_epoch int, effect_key text, seen_digest text, verdict text, who text, note text, word text
) returns jsonb language plpgsql as $$
declare
    entered saga := enter(saga_id, caller_epoch);
    said jsonb := jsonb_strip_nulls(jsonb_build_object('who', who, 'note', note, 'word', word, 'at', clock_timestamp()));
    was gate;
    become gate;
begin
    select * into was from gate where key = effect_key and saga = saga_id;
    if was.key is null or was.digest <> seen_digest or word = any (was.past) then
        return refused('approval_changed', 'saga', entered.state);
    elsif word = any (words_on(was)) then
        return gate_answer(was);
    elsif not may_be_asked(entered, effect_key) then
        return refused('saga_not_open', 'saga', entered.state);
    elsif is_late(was) or was.state = 'expired' then
        return refused('approval_expired', 'saga', entered.state);
    elsif was.state <> 'waiting' then
        return refused('approval_decided', 'saga', entered.state);
    end if;
    become := was;
    if verdict = 'reject' then
        become.state := 'rejected';
        become.refused := said;
        return store_gate('reject', entered, entered, was, become);
    elsif exists (
        select from jsonb_array_elements(was.given) as g where lower(trim(g ->> 'who')) = lower(trim(who))
    ) then
        return refused('approved_twice', 'saga', entered.state);
    end if;
    become.given := was.given || said;
    if jsonb_array_length(become.given) >= was.people then
        become.state := 'granted';
        become.until := in_seconds(was.lasts);
    end if;
    return store_gate('approve', entered, entered, was, become);
end $$;

-- Use up an approval for the run that begins; its further attempts at the same effect use it, too. Answers with who
-- has given it, or with null where nobody has.
create or replace function use_gate(effect_key text, begun_digest text, begun_run text) returns jsonb
language plpgsql as $$
declare
    was gate;
begin
    select * into was from gate where key = effect_key;
    if was.digest is distinct from begun_digest then
        return null;
    elsif was.state = 'used' and was.run = begun_run then
        return was.given;
    elsif was.state <> 'granted' or is_late(was) then
        return null;
    end if;
    update gate set state = 'used', run = begun_run where key = effect_key;
    return was.given;
end $$;

-- The questions that wait for people, oldest first.
create or replace function gates(prefix text, row_limit int) returns jsonb language sql stable as $$
    select jsonb_build_object('gates', coalesce(jsonb_agg(found order by asked), '[]'))
    from (
        select g.saga, g.key, g.digest, g.shown, g.people, g.asked, g.until, g.given
        from gate as g join saga as s on s.id = g.saga
        where starts_with(g.saga, prefix) and g.state = 'waiting' and g.until > clock_timestamp()
          and may_be_asked(s, g.key)
        order by g.asked
        limit row_limit
    ) as found
$$;
