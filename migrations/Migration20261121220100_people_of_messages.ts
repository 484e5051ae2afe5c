import { Migration } from '@mikro-orm/migrations';

const PEOPLE = `
  update message m set participants = array(
    select distinct h.letter || lower(a ->> 'email')
    from (values ('f:', m.from_addresses), ('t:', m.to_addresses), ('c:', m.cc_addresses), ('b:', m.bcc_addresses)) h(letter, list)
    cross join lateral jsonb_array_elements(h.list) a
    where length(a ->> 'email') <= 320)`;
const ADDRESSES = `
  update message m set participants = array(
    select distinct lower(a ->> 'email')
    from (values (m.from_addresses), (m.to_addresses), (m.cc_addresses), (m.bcc_addresses)) h(list)
    cross join lateral jsonb_array_elements(h.list) a
    where length(a ->> 'email') <= 320)`;
const OF_THREADS = `
  update thread t set participants = array(
    select distinct p from message o, unnest(o.participants) p
    where o.thread_id = t.id and not o.draft and not o.deleting order by p)`;

/** Lists are filtered by who is in which header, and not only by who is in any of them. */
export class Migration20261121220100_people_of_messages extends Migration {
  override name = 'Migration20261121220100_people_of_messages';

  override up(): void | Promise<void> {
    this.addSql(PEOPLE);
    this.addSql(OF_THREADS);
  }

  override down(): void | Promise<void> {
    this.addSql(ADDRESSES);
    this.addSql(OF_THREADS);
  }
}
