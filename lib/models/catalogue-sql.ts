/** The statement that reads PostgreSQL's catalogue for all tables at once, and the rows of its answer. */
import { PARTITION_OF } from '../postgres/failed-statement.js'

/** The answer of the statement, parsed: rows stand in the order of the tables' names (`ordinal`, from 1). */
export interface CatalogueRows {
  readonly tables: readonly TableRow[]
  readonly columns: readonly ColumnRow[]
  readonly constraints: readonly ConstraintRow[]
}

interface TableRow {
  ordinal: number
  relation: string
  parts: string[]
  table: string
  secured: boolean
  view: boolean
  heirs: boolean
  partitioned: boolean
  writes: number
  silent: number
  lockable: boolean
  filters: boolean
  indirect: boolean
  before: number
  after: number
  deferred: string[]
}

export interface ColumnRow {
  ordinal: number
  readonly: boolean
  name: string
  notnull: boolean
  holdsnull: boolean
  identity: string
  generated: string
  default: string | null
  referenced: boolean
  cascades: boolean
  type: string
  kind: string
  sqltype: string
  oid: string
  collation: string | null
  mod: number
  element: string | null
  dimensions: number
  checks: string[]
  labels: string[]
  domain: boolean
  domains: string[]
  ordered: boolean
  equated: boolean
  counted: boolean | null
  costly: boolean
}

interface ConstraintRow {
  ordinal: number
  name: string
  kind: string
  columns: string[]
  target: string | null
  reference: string
  secured: boolean | null
  period: boolean
  enforced: boolean
  validated: boolean
  part: boolean
  arbiter: boolean
  condition: string | null
  keys: string[]
}

// Each is read by index scans alone: `to_regclass()` gives the tables, and what hangs on types is read once for each type.
const TABLES = `
  with named as materialized (
    select w.ordinal, r.oid as table, r.relkind as kind
    from unnest(?::text[]) with ordinality as w(name, ordinal) join pg_class r on r.oid = to_regclass(w.name)
  ), tree as materialized (
    select ordinal, named.table as part from named
    union all
    select ordinal, p.relid from named cross join lateral pg_partition_tree(named.table) p
    where named.kind = 'p' and p.level > 0
  ), met as materialized (
    -- what a row may meet in the table or one of its partitions; row triggers before, or instead of, an insert may stop it
    select ordinal, bool_or(part.relkind = 'f') as foreign, coalesce(bool_or(g.tgtype & 5 = 5 and g.tgtype & 66 <> 0), false) as stops,
      -- the events as pg_relation_is_updatable() has them: 4 updates, 8 inserts, 16 deletes
      coalesce(bit_or(e.events) filter (where g.tgtype & 66 <> 0), 0) as before,
      coalesce(bit_or(e.events) filter (where g.tgtype & 66 = 0), 0) as after,
      coalesce(array_agg(distinct g.tgname::text) filter (where g.tginitdeferred), '{}') as deferred
    from tree join pg_class part on part.oid = tree.part
    left join pg_trigger g on g.tgrelid = part.oid and not g.tgisinternal
    cross join lateral (select (g.tgtype & 4) * 2 + (g.tgtype & 8) * 2 + (g.tgtype & 16) / 4 as events) e
    group by ordinal
  )
  select ordinal, r.relname as relation, r.oid as table, array(
      -- a partition inherits from its table, too
      with recursive parts as (
        select h.inhrelid as oid from pg_inherits h where h.inhparent = r.oid
        union select h.inhrelid from parts join pg_inherits h on h.inhparent = parts.oid
      )
      select part.relname::text from parts join pg_class part on part.oid = parts.oid) as parts, r.relrowsecurity as secured,
    r.relkind not in ('r', 'p') as view, r.relkind = 'p' as partitioned, r.relkind <> 'p' and exists (select from pg_inherits h where h.inhparent = r.oid) as heirs,
    pg_relation_is_updatable(r.oid, true) as writes,
    -- the events of rules that do something instead, and return no rows: PostgreSQL refuses RETURNING
    (select coalesce(sum(case ev_type when '2' then 4 else 8 end), 0)::int from (
      select ev_type from pg_rewrite where r.relhasrules and ev_class = r.oid and is_instead and ev_type in ('2', '3')
      group by ev_type having not bool_or(pg_get_ruledef(pg_rewrite.oid) ~ '\\sRETURNING\\s')) silent) as silent,
    r.relkind in ('r', 'p', 'f') or pg_relation_is_updatable(r.oid, false) & 4 <> 0 as lockable,
    r.relkind not in ('r', 'p') or r.relhasrules or met.foreign or met.stops as filters,
    r.relkind not in ('r', 'p') or r.relhasrules or met.foreign as indirect, met.before, met.after, met.deferred
  from named join met using (ordinal) join pg_class r on r.oid = named.table`

/** What a column is filled with that an INSERT leaves out: its own default, else that of its type, a domain's. */
const defaultOf = (column: string, own: string) =>
  `coalesce(pg_get_expr(${own}.adbin, ${own}.adrelid), (select y.typdefault from pg_type y where y.oid = ${column}.atttypid))`

const COLUMNS = `
  with w as materialized (
    select w.ordinal, to_regclass(w.name)::oid as table from unnest(?::text[]) with ordinality as w(name, ordinal)
  ), referenced as materialized (
    select f.confrelid as table, unnest(f.confkey) as attnum, f.confupdtype not in ('a', 'r') as cascades from pg_constraint f
    where f.contype = 'f' and f.confrelid in (select w.table from w)
  ), used as materialized (
    select distinct a.atttypid as oid from pg_attribute a
    where a.attrelid in (select w.table from w) and a.attnum > 0 and not a.attisdropped
  ), reached as materialized (
    -- the types that a value consists of: what a domain is over, items of arrays, columns of composites
    with recursive reached as (
      select used.oid as declared, used.oid from used
      union
      select reached.declared, next.oid from reached join pg_type p on p.oid = reached.oid
      cross join lateral (
        select p.typbasetype as oid where p.typtype = 'd'
        union all select p.typelem where p.typcategory = 'A'
        union all select a.atttypid from pg_attribute a where p.typtype = 'c' and a.attrelid = p.typrelid and a.attnum > 0 and not a.attisdropped
      ) next
    )
    select declared, oid from reached
  ), operators as materialized (
    select declared, coalesce(bool_and(has.tree), true) as ordered, coalesce(bool_and((has.tree or has.hash) and has.found), true) as equated
    from reached join pg_type p on p.oid = reached.oid and p.typtype in ('b', 'p') and p.typcategory <> 'A'
    cross join lateral (
      -- an operator that is not on the search path is found only where the type is a text without more
      select coalesce(bool_or(c.opcmethod = 403), false) as tree, coalesce(bool_or(c.opcmethod = 405), false) as hash,
        -- and one of numbers reads no names of what they number (regclass)
        coalesce(bool_or(pg_operator_is_visible(o.amopopr) and (c.opcintype <> 'oid'::regtype or p.oid = c.opcintype)), true)
          or exists (select from pg_cast where castsource = p.oid and casttarget = 'text'::regtype and castcontext = 'i') as found
      from pg_opclass c
      left join pg_amop o on o.amopfamily = c.opcfamily and o.amoplefttype = c.opcintype and o.amoprighttype = c.opcintype
        and o.amopstrategy = case c.opcmethod when 403 then 3 else 1 end
      where c.opcdefault and c.opcmethod in (403, 405) and (c.opcintype = p.oid or exists (
        select from pg_cast where castsource = p.oid and casttarget = c.opcintype and castmethod = 'b' and castcontext = 'i'))
    ) has
    group by declared
  ), types as materialized (
    select used.oid as declared, used.oid <> t.oid as domain, coalesce(o.ordered, true) as ordered, coalesce(o.equated, true) as equated, 
      -- operators that are not on the search path are not found: PostgreSQL orders by those of citext, and compares as texts
      case when t.typname = 'citext' then format_type(t.oid, -1) else t.typname end as type, t.typtype as kind, format_type(t.oid, -1) as sqltype, t.oid,
      base.strict, coalesce(e.mod, base.mod) as mod, e.typname as element,
      array(select label.enumlabel::text from pg_enum label
        where label.enumtypid = coalesce(e.oid, t.oid) order by label.enumsortorder) as labels,
      array(select n.nspname || '.' || d.typname from reached join pg_type d on d.oid = reached.oid and d.typtype = 'd'
        join pg_namespace n on n.oid = d.typnamespace where reached.declared = used.oid) as domains,
      exists (select from reached join pg_type part on part.oid = reached.oid
        where reached.declared = used.oid and part.typname in ('xml', 'tsquery')) as costly,
      array(select pg_get_constraintdef(c.oid) from pg_constraint c where c.contypid = any(base.domains)
        and c.contype = 'c' and to_jsonb(c)->>'conenforced' is distinct from 'false' order by c.conname) as checks
    from used
    cross join lateral (
      with recursive chain as (
        select ty.oid, ty.typtype, ty.typbasetype, ty.typtypmod, null::int as mod, ty.typnotnull as strict
          from pg_type ty where ty.oid = used.oid
        union all
        select ty.oid, ty.typtype, ty.typbasetype, ty.typtypmod, chain.typtypmod, ty.typnotnull or chain.strict
          from chain join pg_type ty on ty.oid = chain.typbasetype where chain.typtype = 'd'
      )
      select oid, mod, strict, array(select d.oid from chain d where d.typtype = 'd') as domains from chain where typtype <> 'd'
    ) base
    join pg_type t on t.oid = base.oid
    left join operators o on o.declared = used.oid
    -- a list of boxes, and the vectors of the catalogue, have other separators than pg writes: they stay text
    left join pg_type item on item.oid = t.typelem and item.typarray = t.oid and item.typdelim = ','
    left join lateral (
      with recursive chain as (
        select item.oid, item.typname, item.typtype, item.typbasetype, item.typtypmod, base.mod
        union all
        select ty.oid, ty.typname, ty.typtype, ty.typbasetype, ty.typtypmod, chain.typtypmod
          from chain join pg_type ty on ty.oid = chain.typbasetype where chain.typtype = 'd'
      )
      select oid, typname, mod from chain where typtype <> 'd'
    ) e on true
  ), instead as materialized (
    -- updates and inserts of a view, as bits 4 and 8, that take any column: pg_column_is_updatable() wants deletes beside them
    select w.table, bit_or(e.event) as events from w cross join lateral (
      select (g.tgtype & 4) * 2 + (g.tgtype & 16) / 4 as event from pg_trigger g where g.tgrelid = w.table and g.tgtype & 64 <> 0
      union all
      select case ev_type when '2' then 4 else 8 end from pg_rewrite
      where ev_class = w.table and is_instead and ev_qual::text = '<>' and ev_type in ('2', '3')
    ) e
    group by w.table
  )
  select w.ordinal, a.attname as name, a.attnotnull or t.strict as notnull,
    -- a constraint may be NOT VALID, or not that of heirs, and an outer join of a view leaves out what its domain asks for
    not (t.strict and r.relkind in ('r', 'p') or a.attnotnull and not exists (select from pg_constraint c
      where c.conrelid = a.attrelid and c.contype = 'n' and not c.convalidated and c.conkey = array[a.attnum])
      and (r.relkind = 'p' or not exists (
        with recursive heirs as (
          select h.inhrelid as oid from pg_inherits h where h.inhparent = r.oid
          union select h.inhrelid from heirs join pg_inherits h on h.inhparent = heirs.oid
        )
        select from heirs join pg_attribute own on own.attrelid = heirs.oid and own.attname = a.attname and not own.attnotnull
      ))) as holdsnull,
    a.attidentity as identity,
    a.attgenerated as generated, ${defaultOf('a', 'd')} as default,
    -- of a view: a key that the table below it makes; and what is computed, here or below, unless all that writes it is written instead
    r.relkind = 'v' and (made.key or (made.computed or not pg_column_is_updatable(r.oid, a.attnum, true))
      and (instead.events is null or pg_relation_is_updatable(r.oid, true) & 12 & ~instead.events <> 0)) as readonly,
    (a.attrelid, a.attnum) in (select k.table, k.attnum from referenced k) as referenced,
    (a.attrelid, a.attnum) in (select k.table, k.attnum from referenced k where k.cascades) as cascades,
    t.type, t.kind, t.sqltype, t.oid, coalesce(t.mod, a.atttypmod) as mod, t.element, a.attndims as dimensions, t.labels, t.domain, t.domains, t.costly, t.ordered, t.equated,
    -- heirs that have the default of a column count on together
    r.relkind <> 'p' and ${defaultOf('a', 'd')} like 'nextval(%' and not exists (
      with recursive heirs as (
        select h.inhrelid as oid from pg_inherits h where h.inhparent = r.oid
        union select h.inhrelid from heirs join pg_inherits h on h.inhparent = heirs.oid
      )
      select from heirs join pg_attribute own on own.attrelid = heirs.oid and own.attname = a.attname
      left join pg_attrdef other on other.adrelid = own.attrelid and other.adnum = own.attnum
      where ${defaultOf('own', 'other')} is distinct from ${defaultOf('a', 'd')}
    ) as counted,
    (select quote_ident(n.nspname) || '.' || quote_ident(c.collname) from pg_collation c join pg_namespace n on n.oid = c.collnamespace
      where c.oid = a.attcollation and not c.collisdeterministic) as collation,
    array(select pg_get_constraintdef(c.oid) from pg_constraint c where c.conrelid = a.attrelid and c.conkey = array[a.attnum]
      and c.contype = 'c' and to_jsonb(c)->>'conenforced' is distinct from 'false' order by c.conname) || t.checks as checks
  from w
  join pg_class r on r.oid = w.table
  join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
  join types t on t.declared = a.atttypid
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  left join instead on instead.table = r.oid
  cross join lateral (
    select coalesce(bool_or(key.attidentity <> '' or ${defaultOf('key', 'filled')} like 'nextval(%'), false) as key,
      coalesce(bool_or(key.attgenerated <> ''), false) as computed
    from pg_rewrite w join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid and d.refclassid = 'pg_class'::regclass
    join pg_attribute key on key.attrelid = d.refobjid and key.attnum = d.refobjsubid and key.attname = a.attname
    left join pg_attrdef filled on filled.adrelid = key.attrelid and filled.adnum = key.attnum
    where r.relkind = 'v' and w.ev_class = r.oid
  ) made
  order by w.ordinal, a.attnum`

// Constraints of partitions count by their names only: a key of one partition is none of the table. An index with
// expressions has the columns that they are made of, and is no key: what its condition is of is not among them. That a row
// belongs to a partition is a constraint, too, which has no name of its own. `conenforced` and `conperiod` are new in
// PostgreSQL 18: of other versions all constraints are enforced, and none is about periods.
const CONSTRAINTS = `
  with named as materialized (
    select w.ordinal, to_regclass(w.name)::oid as table from unnest(?::text[]) with ordinality as w(name, ordinal)
  ), w as materialized (
    select named.ordinal, named.table, false as part from named
    union all
    select named.ordinal, p.relid::oid, true from named cross join lateral pg_partition_tree(named.table) p where p.level > 0
  )
  select w.ordinal, c.conname as name, case when w.part then 'i' else c.contype::text end as kind, nullif(c.confrelid, 0) as target,
    c.confrelid::regclass::text as reference, (select r.relrowsecurity from pg_class r where r.oid = c.confrelid) as secured,
    to_jsonb(c)->>'conperiod' is not distinct from 'true' as period, to_jsonb(c)->>'conenforced' is distinct from 'false' as enforced, c.convalidated as validated, w.part,
    not w.part and c.contype in ('p', 'u') and not c.condeferrable and to_jsonb(c)->>'conperiod' is distinct from 'true' as arbiter, null as condition,
    array(select a.attname::text from unnest(c.confkey) with ordinality as k(attnum, position)
      join pg_attribute a on a.attrelid = c.confrelid and a.attnum = k.attnum order by k.position) as keys,
    case when c.contype = 'x' and 0 = any(c.conkey) then array(
      -- what its expressions are of, and its condition
      select a.attname::text from pg_attribute a where a.attrelid = c.conrelid and (a.attnum = any(c.conkey) or exists (
        select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.conindid and d.refclassid = 'pg_class'::regclass
          and d.refobjid = a.attrelid and d.refobjsubid = a.attnum)) and a.attnum > 0 order by a.attnum)
      else array(select a.attname::text from unnest(c.conkey) with ordinality as k(attnum, position)
        join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.attnum order by k.position) end as columns
  from w join pg_constraint c on c.conrelid = w.table
  union all select w.ordinal, i.relname, case when not w.part and x.indisvalid and x.indpred is null and x.indexprs is null then 'u' else 'i' end,
    null, null, null, false, true, true, w.part, not w.part and x.indisvalid and x.indpred is null and x.indexprs is null, case when not w.part and x.indisvalid and x.indexprs is null then pg_get_expr(x.indpred, x.indrelid) end, array[]::text[],
    array(select a.attname::text from (
        select k.attnum, k.position from unnest(x.indkey[0:x.indnkeyatts - 1]) with ordinality as k(attnum, position) where x.indexprs is null
        union select k.attnum, k.attnum from unnest(x.indkey[0:x.indnkeyatts - 1]) as k(attnum) where x.indexprs is not null
        -- the only text that tells what of the index its expressions are of
        union select e.found[1]::int2, e.found[1]::int2 from regexp_matches(x.indexprs::text, ':varattno (\\d+)', 'g') as e(found)
      ) k join pg_attribute a on a.attrelid = x.indrelid and a.attnum = k.attnum order by k.position)
  from w join pg_index x on x.indrelid = w.table and x.indisunique
  join pg_class i on i.oid = x.indexrelid
  where not exists (select 1 from pg_constraint c where c.conrelid = x.indrelid and c.conindid = x.indexrelid and c.contype in ('p', 'u'))
  union all select w.ordinal, '${PARTITION_OF}' || r.relname, 'i', null, null, null, false, true, true, w.part, false, null, array[]::text[],
    array(select a.attname::text from unnest(p.partattrs) with ordinality as k(attnum, position)
      join pg_attribute a on a.attrelid = p.partrelid and a.attnum = k.attnum order by k.position)
  from w join pg_partitioned_table p on p.partrelid = w.table
  join pg_class r on r.oid = p.partrelid
  order by ordinal, name`

const listOf = (sql: string) => `(select coalesce(json_agg(t), '[]') from (${sql}) t)`
/** The statement. It takes the references of the tables, as a list of texts, three times. */
export const CATALOGUE = `select json_build_object('tables', ${listOf(TABLES)}, 'columns', ${listOf(COLUMNS)},
  'constraints', ${listOf(CONSTRAINTS)})::text as catalogue`
