import { z } from 'zod';

/** Settings of a Microsoft account, with their names in the API. */
export const microsoftSettings = z.object({
  /** Whether the application signs in by itself, without a user. Default `false`. */
  app_only: z.boolean().optional(),
  /**
   * Whether the address is that of a shared mailbox, which the signed-in user may use. Default
   * `false`.
   */
  shared_mailbox: z.boolean().optional(),
});
