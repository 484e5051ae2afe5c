import { phoneRefusal } from './phone-numbers.ts';

describe('phoneRefusal', () => {
  it.each([
    ['a German mobile number', '+4915112345678'],
    ['an American number', '+12133734253'],
    ['a number without a country', '+15550100'],
  ])('accepts %s if all countries are allowed', (_, number) => {
    expect(phoneRefusal(number, [])).toBeNull();
  });

  it.each([
    ['of Germany', '+499001234567'],
    ['of the United Kingdom', '+449098790123'],
    ['of the United States', '+19002345678'],
    ['of the international premium-rate service, which has no country', '+979123456789'],
  ])('refuses a premium-rate number %s, even if its country is allowed', (_, number) => {
    expect(phoneRefusal(number, [])).toMatch(/premium-rate/);
    expect(phoneRefusal(number, ['DE', 'GB', 'US'])).toMatch(/premium-rate/);
  });

  it.each([
    ['a shared-cost number', '+491805123456', /shared-cost/],
    ['a personal number of the United Kingdom', '+447012345678', /personal number/],
    ['a personal number of North America', '+15212345678', /personal number/],
    ['Inmarsat', '+870773111632', /satellites/],
    ['universal personal numbers', '+878101234567890', /satellites/],
    ['Iridium', '+8816512345678', /satellites/],
    ['Thuraya', '+8821612345678', /satellites/],
    ['a global network whose ranges the library does not know', '+8821312345678', /satellites/],
    ['iNum', '+883510012345678', /satellites/],
    ['relief organizations', '+888123456789', /satellites/],
    ['international freephone', '+80012345678', /satellites/],
    ['international shared cost', '+80812345678', /shared-cost/],
    ['a trial network', '+991123456789', /satellites/],
    ['an unassigned calling code', '+2101234567', /satellites/],
  ])('refuses a number of %s, even if all countries are allowed', (_, number, reason) => {
    expect(phoneRefusal(number, [])).toMatch(reason);
    expect(phoneRefusal(number, ['DE', 'GB', 'US'])).toMatch(reason);
  });

  it('accepts only numbers of allowed countries, even if countries share a calling code', () => {
    expect(phoneRefusal('+4915112345678', ['DE'])).toBeNull();
    expect(phoneRefusal('+12133734253', ['US'])).toBeNull();
    expect(phoneRefusal('+18762345678', ['US'])).toMatch(/^it belongs to JM; .* to US only$/);
    expect(phoneRefusal('+15550100', ['US'])).toMatch(/no known country/);
  });
});
