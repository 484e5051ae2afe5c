import { z } from 'zod';

/** The secret address of a calendar. */
export const feedView = z
  .object({
    object: z.literal('feed'),
    calendar_id: z.string(),
    url: z.string().optional().describe('Only in the answer that makes it: it is not kept'),
    created_at: z.number().int(),
  })
  .meta({ id: 'CalendarFeed' });
