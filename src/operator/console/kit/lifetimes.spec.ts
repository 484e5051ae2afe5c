import { describe, expect, it } from '@jest/globals';
import { SECRET_OVERLAPS, TOKEN_LIFETIMES } from '../pages/action.page.ts';
import { lifetimeOptions } from './lifetimes.ts';

describe('lifetimeOptions', () => {
  it.each([
    ['of a secret before its rotation', SECRET_OVERLAPS],
    ['of an access token', TOKEN_LIFETIMES],
  ])('%s begin with no choice, the default of a browser', (_of, choices) => {
    const values = lifetimeOptions(choices).map((option) => /value="(\d*)"/.exec(option.text)?.[1]);
    expect(values[0]).toBe('');
    expect(values).toHaveLength(Object.keys(choices).length);
  });
});
