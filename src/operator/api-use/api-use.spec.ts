import type { ApiUseConfig } from '../../platform/config/sections/api-use-config.ts';
import { type CountedUse, forecastOf } from './api-use.ts';

const MILLION = 1_000_000;

/** Noon of the 28th: two complete days of November follow. */
const NOW = new Date('2026-11-28T12:00:00Z');

const COUNTED: CountedUse = {
  application: { id: 'a', clientId: 'c', name: 'Front desk' },
  api: 'gmail',
  today: 0,
  month: 0,
  paidBefore: 0,
  recent: 0,
  recentDays: 7,
  ownCeiling: null,
};

function forecast(counted: Partial<CountedUse>, config: Partial<ApiUseConfig> = {}) {
  const settings: ApiUseConfig = {
    ceilings: { gmail: 0, 'microsoft-graph': 0 },
    gmailPrices: { freeUnitsPerDay: 80 * MILLION, perMillionUnits: null, checkedOn: '2026-11-27' },
    ...config,
  };
  return forecastOf({ ...COUNTED, ...counted }, NOW, settings, {
    company: 'google',
    counts: 'units',
  });
}

describe('the forecast of a month', () => {
  it('continues at the average of the last seven complete days', () => {
    const { perDay, monthForecast, paidForecast } = forecast({
      today: 20 * MILLION,
      month: 920 * MILLION,
      recent: 350 * MILLION,
    });
    // 900 million until yesterday, 50 million each for today, the 29th and the 30th.
    expect({ perDay, monthForecast, paidForecast }).toEqual({
      perDay: 50 * MILLION,
      monthForecast: 1_050 * MILLION,
      paidForecast: 0,
    });
  });

  it('counts what is above the free units of each day, and its price', () => {
    const gmailPrices = { freeUnitsPerDay: 80 * MILLION, perMillionUnits: 0.5, checkedOn: '' };
    const state = forecast(
      { today: 90 * MILLION, month: 500 * MILLION, paidBefore: 4 * MILLION, recent: 700 * MILLION },
      { gmailPrices },
    );
    // 4 million before; 20 million each on three days at 100 million a day.
    expect(state).toMatchObject({
      paid: 14 * MILLION,
      paidForecast: 64 * MILLION,
      costForecast: 32,
    });
  });

  it('uses the part of today that has passed if there is no complete day', () => {
    const { perDay, monthForecast } = forecast({ today: 10, month: 10, recentDays: 0 });
    expect([perDay, monthForecast]).toEqual([20, 60]);
  });

  it('never expects less for today than was used already', () => {
    const { monthForecast } = forecast({ today: 1_000, month: 1_000, recent: 7, recentDays: 7 });
    expect(monthForecast).toBe(1_002);
  });

  it('names no cost where a company does not charge', () => {
    const gmailPrices = { freeUnitsPerDay: 1, perMillionUnits: 1, checkedOn: '' };
    const state = forecast({ api: 'microsoft-graph', today: 500, month: 500 }, { gmailPrices });
    expect(state).toMatchObject({ freePerDay: null, paid: 0, paidForecast: 0, costForecast: null });
  });
});
