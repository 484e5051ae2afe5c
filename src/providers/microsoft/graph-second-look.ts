import type { ProviderAccount } from '../port/connector.ts';
import { provenGone } from '../rest/gone.ts';
import type { GraphApi } from './graph-api.ts';
import { GraphError } from './graph-error.ts';

const INBOX = '/mailFolders/inbox';
const CALENDAR = '/calendar';

/** A part of a mailbox, for which an account has permissions of its own. */
type Part = 'mail' | 'calendar' | 'contacts';

/**
 * Waits for a request about an object of a mailbox, as `provenGone` does.
 * @param object path of the object, and the part of the mailbox that it belongs to
 */
export function unlessPassing<T>(
  api: GraphApi,
  account: ProviderAccount,
  { path, part }: { path: string; part: Part },
  work: Promise<T>,
): Promise<T> {
  const read = (one: string) => {
    const query = { $select: 'id' };
    return api.send(account, { method: 'GET', path: one, query, priority: 'interactive' });
  };
  const anchors = {
    mail: () => read(INBOX),
    calendar: () => read(CALENDAR),
    // No address book has to contain anything, so other parts are asked.
    contacts: () =>
      orWithoutConsent(read(INBOX), () => orWithoutConsent(read(CALENDAR), () => true)),
  };
  return provenGone(work, { object: () => read(path), anchor: anchors[part] });
}

/** The result, or that of `otherwise` if the account's token does not cover the request. */
async function orWithoutConsent(
  work: Promise<unknown>,
  otherwise: () => unknown,
): Promise<unknown> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof GraphError && error.isWithoutConsent) return otherwise();
    throw error;
  }
}
