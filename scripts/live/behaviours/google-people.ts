import { field, text } from '../../lib/api-client.ts';
import { type CompanyAnswer, errorWord } from './company-client.ts';
import { isTooFast, listOf } from './google-lists.ts';
import type { Behaviour, Trial } from './observer.ts';

const CONNECTIONS = '/v1/people/me/connections';
const CONTACTS = ['contacts'];
const FIELDS = 'names,metadata';
/** Contacts may show after minutes: two seconds between looks. */
const LOOKS = 120;
const LATE_SECONDS = 10;
const FULL_SYNCS = 12;

const LISTING = { personFields: FIELDS, requestSyncToken: 'true', pageSize: '1000' };

/** Lists all contacts. @returns the sync token; `undefined` if there are too many pages */
async function syncToken({ company }: Trial): Promise<string | undefined> {
  const all = await listOf(company, CONNECTIONS, 'connections', LISTING);
  return all && text(all.last, 'nextSyncToken');
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
    const begun = trial.now();
    let isShown = false;
    let looks = 0;
    for (; looks < LOOKS && !isShown && !walk.isInterrupted; looks += 1) {
      if (looks > 0) await trial.pause();
      const query = { ...LISTING, syncToken: token };
      const changed = await listOf(company, CONNECTIONS, 'connections', query);
      isShown = changed?.entries.some((one) => field(one, 'resourceName') === resource) ?? false;
    }
    const seconds = Math.round((trial.now() - begun) / 1000);
    await remove();
    const facts = { isShown, seconds, looks };
    if (seconds > LATE_SECONDS) return { answer: 'yes', facts };
    return { answer: isShown ? 'no' : 'open', facts };
  },
};

const firstPages: Behaviour = {
  name: 'people-first-page-quota',
  question: `Are ${FULL_SYNCS} full syncs in a row refused by a quota of their own?`,
  scopes: CONTACTS,
  async try(trial) {
    const { company } = trial;
    const token = await syncToken(trial);
    if (token === undefined) return { answer: 'open', facts: { hasTooManyContacts: true } };
    let refusal: CompanyAnswer | undefined;
    let requests = 0;
    for (; requests < FULL_SYNCS && !refusal; requests += 1) {
      const answer = await company.call('GET', CONNECTIONS, {
        query: { ...LISTING, pageSize: '1' },
      });
      if (answer.status >= 300) refusal = answer;
    }
    if (!refusal) return { answer: 'no', facts: { requests } };
    // The quota of all requests would refuse this one, too.
    const other = await company.call('GET', CONNECTIONS, {
      query: { ...LISTING, syncToken: token },
    });
    const error = errorWord(refusal);
    const facts = { requests, status: refusal.status, error, statusOfOthers: other.status };
    return { answer: isTooFast(refusal, error) && other.status < 300 ? 'yes' : 'open', facts };
  },
};

const otherParameters: Behaviour = {
  name: 'people-other-parameters',
  question: 'Is a sync request refused whose pageSize differs from that of the first one?',
  scopes: CONTACTS,
  async try(trial) {
    const token = await syncToken(trial);
    if (token === undefined) return { answer: 'open', facts: { hasTooManyContacts: true } };
    const query = { ...LISTING, syncToken: token };
    const answer = await trial.company.call('GET', CONNECTIONS, {
      query: { ...query, pageSize: '10' },
    });
    if (answer.status < 300) return { answer: 'no', facts: { status: answer.status } };
    const same = await trial.company.call('GET', CONNECTIONS, { query });
    const facts = { status: answer.status, error: errorWord(answer), statusOfSame: same.status };
    return { answer: answer.status === 400 && same.status < 300 ? 'yes' : 'open', facts };
  },
};

/** Behaviours of the People API. */
export const PEOPLE_BEHAVIOURS = [lateContacts, otherParameters, firstPages];
