import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import { BudgetExhaustedError } from '../../../platform/budgets/budget-exhausted-error.ts';
import { EgressError } from '../../../platform/egress/egress-error.ts';
import type { ProviderAccount } from '../../port/connector.ts';
import { type GoogleApi, type GoogleRequest, NoAccessTokenError } from '../google-api.ts';
import { GoogleContacts } from '../google.contacts.ts';

const failed = (kind: EgressError['kind']) =>
  new ProviderError('temporary', `Google: ${kind}`, { cause: new EgressError(kind, kind) });

/** An address book whose first creation fails. */
function bookThatFailsWith(error: Error) {
  const failures = [error];
  const api = {
    now: () => 0,
    read: (_: unknown, { method }: GoogleRequest) => {
      const failure = method === 'POST' ? failures.shift() : undefined;
      if (failure) return Promise.reject(failure);
      return Promise.resolve({ connections: [], resourceName: 'people/c1' });
    },
  };
  const contacts = new GoogleContacts(api as unknown as GoogleApi);
  return () => contacts.createContact({} as ProviderAccount, 'key', { given_name: 'Ada' });
}

describe('a contact whose creation at Google failed', () => {
  it.each([
    ['there was no access token', new NoAccessTokenError()],
    ['the budget was used up', new BudgetExhaustedError(5)],
    ['the name was not found', failed('dns')],
    ['there was no connection', failed('connect')],
  ])('is created by the next request when %s, because nothing was sent', async (_, error) => {
    const create = bookThatFailsWith(error);
    await expect(create()).rejects.toBe(error);
    expect(await create()).toEqual({ providerId: 'people/c1' });
  });

  it.each([
    ['the connection broke', failed('protocol')],
    ['the response could not be read', new ProviderError('temporary', 'an unexpected form')],
  ])('waits until lists show it when %s, because it may have been created', async (_, error) => {
    const create = bookThatFailsWith(error);
    await expect(create()).rejects.toMatchObject({ retryAfterSeconds: 300 });
    await expect(create()).rejects.toMatchObject({ retryAfterSeconds: 300 });
  });
});
