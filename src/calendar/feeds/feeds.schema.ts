import { z } from 'zod';

/** The secret URL of a calendar. */
export const feedView = z
  .object({
    object: z.literal('feed'),
    calendar_id: z.string(),
    url: z
      .string()
      .optional()
      .describe('Only in the response that creates the URL, because the URL is not stored'),
    created_at: z.number().int(),
  })
  .meta({ id: 'CalendarFeed' });
