-- A row per saga, a row per effect, and which changes of their states are legal.

create table saga (
    id       text collate "C" primary key,  -- namespace id / workflow id / first run id
    state    text        not null default 'open',
    epoch    int         not null default 0,
    owner    text,
    report   jsonb,
    started  timestamptz not null default clock_timestamp(),
    n        bigint      not null default 0,             -- lines in the journal
    head     bytea       not null default ''::bytea      -- hash of the last one
) with (fillfactor = 70);

create index saga_unfinished on saga (id) where state in ('open', 'sealed', 'unwinding');
create index saga_started on saga (started);

create table effect (
    key          text collate "C" primary key,
    saga         text collate "C" not null references saga,
    seq          int[]       not null,
    tool         text        not null default '',
    version      int         not null default 0,
    repeat       text        check (repeat in ('deduplicated', 'looked_up', 'never')),
    digest       text        not null default '',
    request      jsonb,
    state        text        not null,
    fenced       boolean     not null default false,       -- no new attempt is let through
    attempt      int         not null default 0,           -- number of the last attempt
    unproven     int[]       not null default '{}',        -- attempts that have not reported
    landing      timestamptz not null default '-infinity', -- when the last of them has landed
    before       jsonb,                                    -- what was there; JSON null: nothing was
    result       jsonb,
    changed      boolean     not null default true,
    found        boolean     not null default false,       -- seen by a lookup; its maker has not reported
    undo_try     int         not null default 0,
    undo_landing timestamptz not null default '-infinity',
    dirty        boolean     not null default false,       -- it happened twice: one more undo is due
    restoration  jsonb,
    error        text
) with (fillfactor = 70);

create index effect_order on effect (saga, seq);
create index effect_for_people on effect (saga) where state in ('stuck', 'in_doubt');

-- legal_effect_change and legal_saga_change are made by the installer from the tables in rescind/_states.py;
-- '' stands for: there was no row.
create function check_transition() returns trigger language plpgsql as $$
declare
    before text := case when tg_op = 'UPDATE' then old.state else '' end;
    legal boolean := case tg_table_name
        when 'saga' then rescind.legal_saga_change(before, new.state)
        else rescind.legal_effect_change(before, new.state)
    end;
begin
    if not legal then
        raise 'A % cannot go from "%" to "%". Nothing was changed.', tg_table_name, before, new.state
            using errcode = 'RS003';
    end if;
    return new;
end $$;

create trigger transition before update of state on saga
    for each row when (old.state is distinct from new.state) execute function check_transition();
create trigger birth before insert on saga
    for each row execute function check_transition();
create trigger transition before update of state on effect
    for each row when (old.state is distinct from new.state) execute function check_transition();
create trigger birth before insert on effect
    for each row execute function check_transition();

create table journal (
    saga  text collate "C" not null,
    n     bigint      not null,
    at    timestamptz not null,
    event text        not null,
    body  jsonb       not null,
    hash  bytea       not null,
    primary key (saga, n)
);

create function refuse_change() returns trigger language plpgsql as $$
begin
    raise 'The journal is only ever added to; % is refused. Nothing was changed.', lower(tg_op)
        using errcode = 'RS003';
end $$;

create trigger append_only before update or delete on journal
    for each row execute function refuse_change();
create trigger never_emptied before truncate on journal
    for each statement execute function refuse_change();
