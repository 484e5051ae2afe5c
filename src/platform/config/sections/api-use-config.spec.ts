import { z } from 'zod';
import { apiUseConfig, apiUseVariables } from './api-use-config.ts';

const variables = z.object(apiUseVariables);

describe('the settings of what calls cost', () => {
  it('have no ceiling and no price, and name the day on which they were checked', () => {
    expect(apiUseConfig(variables.parse({}))).toEqual({
      ceilings: { gmail: 0, 'microsoft-graph': 0 },
      gmailPrices: { freeUnitsPerDay: 80_000_000, perMillionUnits: null, checkedOn: '2026-11-27' },
    });
  });

  it('can be changed', () => {
    const environment = {
      QUOTA_APPLICATION_GMAIL_UNITS: '60000000',
      QUOTA_APPLICATION_GRAPH_REQUESTS: '100000',
      GMAIL_FREE_UNITS_PER_DAY: '40000000',
      GMAIL_PRICE_PER_MILLION_UNITS: '0.25',
      GMAIL_PRICES_CHECKED: '2027-02-01',
    };
    expect(apiUseConfig(variables.parse(environment))).toEqual({
      ceilings: { gmail: 60_000_000, 'microsoft-graph': 100_000 },
      gmailPrices: { freeUnitsPerDay: 40_000_000, perMillionUnits: 0.25, checkedOn: '2027-02-01' },
    });
  });

  it.each([
    ['GMAIL_PRICE_PER_MILLION_UNITS', '1,5'],
    ['GMAIL_PRICE_PER_MILLION_UNITS', '-1'],
    ['GMAIL_PRICES_CHECKED', '27.11.2026'],
    ['GMAIL_PRICES_CHECKED', '2026-13-01'],
    ['QUOTA_APPLICATION_GMAIL_UNITS', 'many'],
    ['QUOTA_APPLICATION_GRAPH_REQUESTS', '9999999999999'],
  ])('refuse %s=%s', (name, value) => {
    const { error } = variables.safeParse({ [name]: value });
    expect(error?.issues).toMatchObject([{ path: [name] }]);
  });
});
