import { isWithin, restrict } from './scopes.ts';

describe('isWithin', () => {
  it('knows that broad scopes contain narrow ones', () => {
    expect(isWithin(['email.read_only', 'email.send'], ['email'])).toBe(true);
    expect(isWithin(['email.read_only'], ['email.modify'])).toBe(true);
    expect(isWithin(['calendar.free_busy'], ['calendar.read_only'])).toBe(true);
  });

  it('refuses what is broader or of another kind', () => {
    expect(isWithin(['email'], ['email.modify', 'email.send'])).toBe(false);
    expect(isWithin(['email.send'], ['email.modify'])).toBe(false);
    expect(isWithin(['calendar'], ['email'])).toBe(false);
  });

  it('takes null for every scope', () => {
    expect(isWithin(['email'], null)).toBe(true);
    expect(isWithin(null, null)).toBe(true);
    expect(isWithin(null, ['email', 'calendar', 'contacts'])).toBe(false);
    expect(isWithin(null, ['email', 'calendar', 'contacts', 'room_resources.read_only'])).toBe(
      true,
    );
  });
});

describe('restrict', () => {
  it('is the other side when one side is everything', () => {
    expect(restrict(null, null)).toBeNull();
    expect(restrict(['calendar'], null)).toEqual(['calendar']);
    expect(restrict(null, ['calendar'])).toEqual(['calendar']);
  });

  it('keeps the narrower of two scopes of one kind, whichever side it is on', () => {
    expect(restrict(['email'], ['email.read_only'])).toEqual(['email.read_only']);
    expect(restrict(['email.read_only', 'calendar'], ['email'])).toEqual(['email.read_only']);
    expect(restrict(['calendar'], ['contacts'])).toEqual([]);
  });
});
