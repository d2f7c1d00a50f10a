-- Workers may run these functions, readers may select from these views, and neither may do anything else.

revoke all on all tables in schema rescind from public;
revoke all on all functions in schema rescind from public;
grant usage on schema rescind to rescind_worker, rescind_reader;

do $$
declare
    signature regprocedure;
begin
    for signature in
        select p.oid
        from pg_proc as p
        where p.pronamespace = 'rescind'::regnamespace
          and p.proname in (
              'begin', 'remember', 'finish', 'fence', 'settle', 'undo_begin', 'undo_finish', 'give_up',
              'seal', 'unwind', 'part', 'missing', 'report', 'promote', 'claim', 'resolve',
              'outline', 'open_effects', 'desk', 'version', 'sweep', 'looked_at', 'list_sagas', 'open_tools', 'show',
              'on_record', 'compare_watermark', 'bring_in_step', 'mistrust', 'unattended', 'ask', 'look_at_gate', 'decide', 'gates')
    loop
        -- Nothing that a caller makes in a schema of its own is ever found before ours.
        execute format('alter function %s security definer set search_path = pg_catalog, rescind, pg_temp',
                       signature);
        execute format('grant execute on function %s to rescind_worker', signature);
    end loop;
end $$;

grant select on sagas, effects, standing, history to rescind_reader;
