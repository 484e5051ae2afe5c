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
      'a refusal by the provider makes status and sync state invalid',
      running,
      { status: 'invalid', reason: '535' },
      invalid,
    ],
    [
      'a second refusal keeps the first reason',
      invalid,
      { status: 'invalid', reason: '534' },
      invalid,
    ],
    [
      'an authentication makes an invalid grant valid and running',
      invalid,
      { status: 'valid', reason: null },
      running,
    ],
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
      'a sync result sets the sync state and its reason',
      running,
      { syncState: 'partial', reason: '3 messages cannot be read' },
      { syncState: 'partial', syncReason: '3 messages cannot be read' },
    ],
    [
      'a sync result can change the reason alone',
      { ...running, syncState: 'sync-error', syncReason: '421' },
      { syncState: 'sync-error', reason: '451' },
      { syncState: 'sync-error', syncReason: '451' },
    ],
    [
      'a change to running clears the reason',
      { ...running, syncState: 'sync-error', syncReason: '421' },
      { syncState: 'running', reason: null },
      running,
    ],
    [
      'a sync result does not make an invalid grant valid',
      invalid,
      { syncState: 'running', reason: null },
      invalid,
    ],
    [
      'a sync result does not reactivate a cancelled account',
      cancelled,
      { syncState: 'running', reason: null },
      cancelled,
    ],
    [
      'a sync error does not change a cancelled account',
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
      'a cancelled account stays stopped when it becomes valid again',
      { ...cancelled, status: 'invalid', statusReason: '535' },
      { status: 'valid', reason: null },
      cancelled,
    ],
    [
      'an account that is cancelled becomes stopped',
      { ...running, billingState: 'cancelled' },
      { syncState: 'stopped', reason: 'cancelled' },
      { syncState: 'stopped', syncReason: 'cancelled' },
    ],
    [
      'a reactivated account runs',
      { ...cancelled, billingState: 'paid' },
      { syncState: 'running', reason: null },
      running,
    ],
    [
      'a reactivated account with invalid credentials becomes invalid',
      { ...cancelled, billingState: 'paid', status: 'invalid', statusReason: '535' },
      { syncState: 'running', reason: null },
      invalid,
    ],
    ['a paid account cannot be stopped', running, { syncState: 'stopped', reason: null }, running],
    [
      'a running account does not return to initializing',
      running,
      { syncState: 'initializing', reason: null },
      running,
    ],
  ])('%s', (_, before, wanted, after) => {
    expect(stateAfter(before, wanted)).toEqual({ ...before, ...after });
  });

  it('leaves a cancelled account stopped and an invalid account invalid, and follows the table otherwise', () => {
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
