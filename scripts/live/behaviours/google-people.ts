import { field, items, text } from '../../lib/api-client.ts';
import { type CompanyAnswer, errorWord } from './company-client.ts';
import type { Behaviour, Trial } from './observer.ts';

const CONNECTIONS = '/v1/people/me/connections';
const CONTACTS = ['contacts'];
const FIELDS = 'names,metadata';
const MOST_PAGES = 50;
/** Contacts may show after minutes: two seconds between looks. */
const LOOKS = 120;
const FULL_SYNCS = 12;

const listing = (query: Readonly<Record<string, string>>) => ({
  query: { personFields: FIELDS, requestSyncToken: 'true', ...query },
});

/** Lists all contacts. @returns the sync token; `undefined` if there are too many pages */
async function syncToken({ company }: Trial): Promise<string | undefined> {
  let page: Record<string, string> = {};
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const list = await company.expect('GET', CONNECTIONS, listing({ pageSize: '1000', ...page }));
    const next = field(list, 'nextPageToken');
    if (typeof next !== 'string' || next === '') return text(list, 'nextSyncToken');
    page = { pageToken: next };
  }
  return undefined;
}

const lateContacts: Behaviour = {
  name: 'people-late-writes',
  question: 'Do contact writes show in sync requests only after more than ten seconds?',
  scopes: CONTACTS,
  async try(trial) {
    const { company, walk } = trial;
    const token = await syncToken(trial);
    if (token === undefined) return { answer: 'open', facts: { hasTooManyContacts: true } };
    const names = [{ givenName: 'Carillon', familyName: 'Live check (can be deleted)' }];
    const made = await company.expect('POST', '/v1/people:createContact', {
      query: { personFields: FIELDS },
      json: { names },
    });
    const resource = text(made, 'resourceName');
    const remove = walk.made('the contact "Carillon Live check"', async () => {
      await company.expect('DELETE', `/v1/${resource}:deleteContact`);
    });
    const begun = performance.now();
    let isShown = false;
    let looks = 0;
    for (; looks < LOOKS && !isShown && !walk.isInterrupted; looks += 1) {
      if (looks > 0) await trial.pause();
      const query = { pageSize: '1000', syncToken: token };
      const changed = await company.expect('GET', CONNECTIONS, listing(query));
      const connections = items(field(changed, 'connections') ?? []);
      isShown = connections.some((one) => field(one, 'resourceName') === resource);
    }
    const seconds = Math.round((performance.now() - begun) / 1000);
    await remove();
    return { answer: !isShown || seconds > 10 ? 'yes' : 'no', facts: { isShown, seconds, looks } };
  },
};

const firstPages: Behaviour = {
  name: 'people-first-page-quota',
  question: `Are ${FULL_SYNCS} full syncs in a row refused by a quota of their own?`,
  scopes: CONTACTS,
  async try({ company }) {
    let refusal: CompanyAnswer | undefined;
    let requests = 0;
    for (; requests < FULL_SYNCS && !refusal; requests += 1) {
      const answer = await company.call('GET', CONNECTIONS, listing({ pageSize: '1' }));
      if (answer.status >= 300) refusal = answer;
    }
    const facts = { requests, status: refusal?.status, error: refusal && errorWord(refusal) };
    if (!refusal) return { answer: 'no', facts };
    return { answer: refusal.status === 429 ? 'yes' : 'open', facts };
  },
};

const otherParameters: Behaviour = {
  name: 'people-other-parameters',
  question: 'Is a sync request refused whose pageSize differs from that of the first one?',
  scopes: CONTACTS,
  async try(trial) {
    const token = await syncToken(trial);
    if (token === undefined) return { answer: 'open', facts: { hasTooManyContacts: true } };
    const query = { pageSize: '10', syncToken: token };
    const answer = await trial.company.call('GET', CONNECTIONS, listing(query));
    const facts = { status: answer.status, error: errorWord(answer) };
    if (answer.status < 300) return { answer: 'no', facts };
    return { answer: answer.status === 400 ? 'yes' : 'open', facts };
  },
};

/** Behaviours of the People API. */
export const PEOPLE_BEHAVIOURS = [lateContacts, otherParameters, firstPages];
