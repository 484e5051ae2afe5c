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

  it('accepts only numbers of allowed countries, even if countries share a calling code', () => {
    expect(phoneRefusal('+4915112345678', ['DE'])).toBeNull();
    expect(phoneRefusal('+12133734253', ['US'])).toBeNull();
    expect(phoneRefusal('+18762345678', ['US'])).toMatch(/^it belongs to JM; .* to US only$/);
    expect(phoneRefusal('+15550100', ['US'])).toMatch(/no known country/);
  });
});
