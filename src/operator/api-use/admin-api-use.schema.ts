import { z } from 'zod';
import { APIS_WITH_CEILING, MOST_CEILING } from './operator-ceilings.ts';
import { COMPANY_APIS, type CompanyApi } from '../../platform/budgets/company-api.ts';
import { filterText } from '../search/list.schema.ts';

const APIS = Object.keys(COMPANY_APIS) as [CompanyApi, ...CompanyApi[]];
const apiWithCeiling = z.enum(APIS_WITH_CEILING as [CompanyApi, ...CompanyApi[]]);
const units = z.number();

/** `GET /admin/api-use`. */
export const apiUseQuery = z.object({
  application: filterText(200)
    .optional()
    .describe('Id or client id of the only application to list'),
});
export type ApiUseQuery = z.infer<typeof apiUseQuery>;

const item = z.object({
  application: z
    .object({ id: z.string(), client_id: z.string(), name: z.string() })
    .describe('Whose accounts made the calls'),
  company: z.enum(['google', 'microsoft']).describe('Whose API it is'),
  api: z.enum(APIS).describe('The API that was called'),
  counts: z
    .enum(['units', 'requests'])
    .describe('What the numbers count: quota units of Gmail, requests of other APIs'),
  today: units.describe('Used today (UTC)'),
  month: units.describe('Used since the first of the month (UTC), today included'),
  per_day: units.describe('Average of the last seven complete days; of today if there is none'),
  month_forecast: units.describe('Expected for the whole month at this pace'),
  ceiling: units.nullable().describe('What may be used in a day; null: no ceiling'),
  free_per_day: units
    .nullable()
    .describe('Units a day that are free; null if the company does not charge for this API'),
  paid: units.describe('Of the month: units above `free_per_day`, day by day'),
  paid_forecast: units.describe('The same, expected at the end of the month'),
  cost_forecast: z
    .number()
    .nullable()
    .describe(
      'Price of `paid_forecast` in the currency of the bill; null: GMAIL_PRICE_PER_MILLION_UNITS is not set',
    ),
});

export const apiUseView = z
  .object({
    at: z.number().int().describe('When the numbers were read, in Unix seconds'),
    month_ends_at: z.number().int().describe('End of the month of the forecasts, in Unix seconds'),
    prices_checked_on: z
      .string()
      .describe('Day on which the prices were compared with those of the company, `YYYY-MM-DD`'),
    items: z.array(item).describe('Most used first; at most 1,000'),
  })
  .meta({
    id: 'ApiUse',
    example: {
      at: 1_700_000_000,
      month_ends_at: 1_701_388_800,
      prices_checked_on: '2026-11-27',
      items: [
        {
          application: {
            id: '019aa1b2-0000-7000-8000-000000000002',
            client_id: '4nq5tyrz0eawtupjd2i2g9r1z',
            name: 'Front desk',
          },
          company: 'google' as const,
          api: 'gmail' as const,
          counts: 'units' as const,
          today: 51_200_000,
          month: 700_400_000,
          per_day: 50_000_000,
          month_forecast: 1_500_400_000,
          ceiling: null,
          free_per_day: 80_000_000,
          paid: 0,
          paid_forecast: 0,
          cost_forecast: null,
        },
      ],
    },
  });

/** Body of `PUT /admin/applications/{id}/ceilings`. */
export const ceilingBody = z
  .object({
    api: apiWithCeiling.describe('The API'),
    units: z
      .number()
      .int()
      .min(0)
      .max(MOST_CEILING)
      .nullable()
      .describe(
        'What the application may use in a day (UTC): quota units of Gmail, requests of Microsoft Graph. 0: no ceiling; null: that of the setting',
      ),
  })
  .meta({ id: 'SetCeiling', example: { api: 'gmail' as const, units: 20_000_000 } });
export type CeilingBody = z.infer<typeof ceilingBody>;

export const ceilingView = z
  .object({
    application_id: z.string().describe('Id of the application'),
    api: apiWithCeiling.describe('The API'),
    ceiling: units.nullable().describe('What may be used in a day; null: no ceiling'),
    is_own: z
      .boolean()
      .describe('True if it was set for this application, false if it is that of the setting'),
  })
  .meta({
    id: 'Ceiling',
    example: {
      application_id: '019aa1b2-0000-7000-8000-000000000002',
      api: 'gmail' as const,
      ceiling: 20_000_000,
      is_own: true,
    },
  });
