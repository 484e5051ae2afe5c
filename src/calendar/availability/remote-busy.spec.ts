import { newId } from '../../platform/base/ids/ids.ts';
import type { FreeBusyRequest, PersonBusy } from '../../providers/port/connector.ts';
import { readRemoteBusy } from './remote-busy.ts';

const account = {
  accountId: newId(),
  applicationId: newId(),
  email: 'ada@example.test',
  name: '',
  organizationUnit: 'label' as const,
  settings: {},
};
const range = { start: 1000, end: 2000 };
const read = (answer: (request: FreeBusyRequest) => Promise<PersonBusy[]>, limitMs = 60_000) =>
  readRemoteBusy(
    { freeBusy: async (_account, request) => answer(request) },
    account,
    ['bo@example.test', 'cy@example.test'],
    range,
    limitMs,
  );

describe('the busy times of people at a provider', () => {
  it('are asked for in one request and found by address in any case', async () => {
    const requests: FreeBusyRequest[] = [];
    const times = await read(async (request) => {
      requests.push(request);
      return [
        { email: 'cy@example.test', busy: [] },
        { email: 'Bo@Example.test', busy: [{ start: 1100, end: 1200 }] },
      ];
    });
    expect(times).toEqual(
      new Map([
        ['bo@example.test', [{ start: 1100, end: 1200 }]],
        ['cy@example.test', []],
      ]),
    );
    expect(requests).toMatchObject([{ ...range, emails: ['bo@example.test', 'cy@example.test'] }]);
  });

  it('are refused with the reason if a person is unknown, also if the provider leaves the person out', async () => {
    const times = read(async () => [{ email: 'cy@example.test', unknown: 'no such user' }]);
    await expect(times).rejects.toThrow(
      'emails: bo@example.test, cy@example.test (no such user): no account of this application',
    );
  });

  it('fail after the limit, and the signal ends the request at the provider', async () => {
    let signal: AbortSignal | undefined;
    const times = read((request) => {
      signal = request.signal;
      return new Promise(() => undefined);
    }, 20);
    await expect(times).rejects.toMatchObject({
      code: 'temporary',
      message: 'it did not answer within 0.02 seconds',
    });
    expect(signal?.aborted).toBe(true);
  });
});
