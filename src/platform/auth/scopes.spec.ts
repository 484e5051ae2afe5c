import { isWithin, restrict } from './scopes.ts';

describe('isWithin', () => {
  it('accepts narrow scopes that a broader scope contains', () => {
    expect(isWithin(['email.read_only', 'email.send'], ['email'])).toBe(true);
    expect(isWithin(['email.read_only'], ['email.modify'])).toBe(true);
    expect(isWithin(['calendar.free_busy'], ['calendar.read_only'])).toBe(true);
  });

  it('refuses scopes that are broader or of another kind', () => {
    expect(isWithin(['email'], ['email.modify', 'email.send'])).toBe(false);
    expect(isWithin(['email.send'], ['email.modify'])).toBe(false);
    expect(isWithin(['calendar'], ['email'])).toBe(false);
  });

  it('treats null as every scope', () => {
    expect(isWithin(['email'], null)).toBe(true);
    expect(isWithin(null, null)).toBe(true);
    expect(isWithin(null, ['email', 'calendar', 'contacts'])).toBe(false);
    expect(isWithin(null, ['email', 'calendar', 'contacts', 'room_resources.read_only'])).toBe(
      true,
    );
  });
});

describe('restrict', () => {
  it('returns the other side when one side allows everything', () => {
    expect(restrict(null, null)).toBeNull();
    expect(restrict(['calendar'], null)).toEqual(['calendar']);
    expect(restrict(null, ['calendar'])).toEqual(['calendar']);
  });

  it('keeps the narrower of two scopes of the same kind, on either side', () => {
    expect(restrict(['email'], ['email.read_only'])).toEqual(['email.read_only']);
    expect(restrict(['email.read_only', 'calendar'], ['email'])).toEqual(['email.read_only']);
    expect(restrict(['calendar'], ['contacts'])).toEqual([]);
  });
});
