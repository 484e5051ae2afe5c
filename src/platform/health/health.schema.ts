import { z } from 'zod';

/** Response of the liveness probe. */
export const aliveView = z
  .object({ status: z.literal('alive') })
  .meta({ id: 'Alive', example: { status: 'alive' } });

/** Response of the readiness probe. */
export const readyView = z
  .object({
    status: z.enum(['ready', 'not_ready']),
    checks: z.array(
      z.object({
        name: z.string(),
        ok: z.boolean(),
        problem: z.string().optional().describe('What is wrong; absent if the check is ok'),
        detail: z
          .string()
          .optional()
          .describe('Host and error; only at the port of operators, and only for some problems'),
      }),
    ),
    reads: z
      .object({
        from: z.enum(['standby', 'primary']),
        problem: z
          .string()
          .optional()
          .describe('Why the standby does not answer reads; absent if it does'),
      })
      .optional()
      .describe(
        'Which server answers reads; only if `DATABASE_READ_URL` is set. A process is ready with either.',
      ),
  })
  .meta({
    id: 'Readiness',
    example: {
      status: 'not_ready',
      checks: [
        { name: 'database', ok: true },
        { name: 'engine', ok: false, problem: 'has not ticked for 12 s' },
      ],
    },
  });
export type ReadyView = z.infer<typeof readyView>;
