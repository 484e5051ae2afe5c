import { jest } from '@jest/globals';
import type { Sql } from '../../database/sql.ts';
import { WorkerIdentity } from './worker-identity.ts';

describe('WorkerIdentity', () => {
  let wallMs: number;
  let identity: WorkerIdentity;
  beforeEach(async () => {
    wallMs = Date.now();
    jest.spyOn(Date, 'now').mockImplementation(() => wallMs);
    identity = new WorkerIdentity();
    await identity.register({ query: () => Promise.resolve([{ id: 7 }]) } as unknown as Sql, () =>
      Promise.resolve(true),
    );
  });
  afterEach(() => jest.restoreAllMocks());

  it('trusts its claims after a heartbeat', () => {
    expect(identity.trusted()).toBe(true);
  });

  it('does not trust its claims after the machine was suspended, although the monotonic clock stood still', () => {
    wallMs += 60_000;
    expect(identity.trusted()).toBe(false);
  });

  it('trusts its claims again after an answered heartbeat, but does not declare others dead yet', () => {
    wallMs += 60_000;
    identity.noteBeat({ monotonicMs: performance.now(), wallMs });
    expect(identity.trusted()).toBe(true);
    expect(identity.mayDeclareDead()).toBe(false);
  });

  it('is not misled by a wall clock that was set back', () => {
    wallMs -= 600_000;
    expect(identity.trusted()).toBe(true);
    identity.noteBeat({ monotonicMs: performance.now() - 10_000, wallMs });
    expect(identity.trusted()).toBe(false);
  });
});
