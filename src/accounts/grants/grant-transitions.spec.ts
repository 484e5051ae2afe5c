import { SYNC_STATES } from '../../platform/auth/grant-status.ts';
import {
  type GrantState,
  stateAfter,
  SYNC_TRANSITIONS,
  type WantedState,
} from './grant-transitions.ts';

const running: GrantState = {
  status: 'valid',
  statusReason: null,
  syncState: 'running',
  syncReason: null,
  billingState: 'paid',
};
const invalid: GrantState = {
  ...running,
  status: 'invalid',
  statusReason: '535',
  syncState: 'invalid',
  syncReason: '535',
};
const cancelled: GrantState = { ...running, syncState: 'stopped', billingState: 'cancelled' };

describe('stateAfter', () => {
  it.each<[string, GrantState, WantedState, Partial<GrantState>]>([
    [
      'a refusal makes a grant invalid, in both states',
      running,
      { status: 'invalid', reason: '535' },
      invalid,
    ],
    [
      'a second refusal leaves the first reason',
      invalid,
      { status: 'invalid', reason: '534' },
      invalid,
    ],
    ['an authentication heals', invalid, { status: 'valid', reason: null }, running],
    [
      'an authentication ends a sync error',
      { ...running, syncState: 'sync-error', syncReason: '421' },
      { status: 'valid', reason: null },
      running,
    ],
    [
      'an authentication does not end a first download',
      { ...running, syncState: 'downloading' },
      { status: 'valid', reason: null },
      { syncState: 'downloading' },
    ],
    [
      'a sync tells its state and reason',
      running,
      { syncState: 'partial', reason: '3 messages cannot be read' },
      { syncState: 'partial', syncReason: '3 messages cannot be read' },
    ],
    [
      'a reason alone may change',
      { ...running, syncState: 'sync-error', syncReason: '421' },
      { syncState: 'sync-error', reason: '451' },
      { syncState: 'sync-error', syncReason: '451' },
    ],
    [
      'a state that is left forgets its reason',
      { ...running, syncState: 'sync-error', syncReason: '421' },
      { syncState: 'running', reason: null },
      running,
    ],
    [
      'a sync result does not heal an invalid grant',
      invalid,
      { syncState: 'running', reason: null },
      invalid,
    ],
    [
      'a sync result does not take up a cancelled account',
      cancelled,
      { syncState: 'running', reason: null },
      cancelled,
    ],
    [
      'a sync error does not either',
      cancelled,
      { syncState: 'sync-error', reason: '421' },
      cancelled,
    ],
    [
      'a cancelled account stays stopped when it becomes invalid',
      cancelled,
      { status: 'invalid', reason: '535' },
      { status: 'invalid', statusReason: '535', syncState: 'stopped' },
    ],
    [
      'and when it becomes valid again',
      { ...cancelled, status: 'invalid', statusReason: '535' },
      { status: 'valid', reason: null },
      cancelled,
    ],
    [
      'an account that is cancelled is stopped',
      { ...running, billingState: 'cancelled' },
      { syncState: 'stopped', reason: 'cancelled' },
      { syncState: 'stopped', syncReason: 'cancelled' },
    ],
    [
      'an account that is taken up again runs',
      { ...cancelled, billingState: 'paid' },
      { syncState: 'running', reason: null },
      running,
    ],
    [
      'unless its credentials are out of date',
      { ...cancelled, billingState: 'paid', status: 'invalid', statusReason: '535' },
      { syncState: 'running', reason: null },
      invalid,
    ],
    ['nobody stops a paid account', running, { syncState: 'stopped', reason: null }, running],
    [
      'nobody goes back to before the first look',
      running,
      { syncState: 'initializing', reason: null },
      running,
    ],
  ])('%s', (_, before, wanted, after) => {
    expect(stateAfter(before, wanted)).toEqual({ ...before, ...after });
  });

  it('never leaves an account that is cancelled, or not valid, in another state than stopped or invalid', () => {
    for (const syncState of SYNC_STATES) {
      for (const wantedState of SYNC_STATES) {
        const wanted = { syncState: wantedState, reason: 'r' };
        if (syncState === 'stopped') {
          expect(stateAfter({ ...cancelled, syncState }, wanted).syncState).toBe('stopped');
        }
        if (syncState === 'invalid') {
          expect(stateAfter({ ...invalid, syncState }, wanted).syncState).toBe('invalid');
        }
        const after = stateAfter({ ...running, syncState }, wanted).syncState;
        expect(
          after === syncState || (SYNC_TRANSITIONS[syncState] as readonly string[]).includes(after),
        ).toBe(true);
      }
    }
  });
});
