import { z } from 'zod';
import { LOG_LEVELS } from '../../platform/base/log-level.ts';
import { DEFAULT_SECONDS, LONGEST_SECONDS } from './log-level.service.ts';

/** Response of the routes of the log level. */
export const logLevelView = z
  .object({
    level: z
      .enum(LOG_LEVELS)
      .nullable()
      .describe('Level of all processes; `null` if each has its own `LOG_LEVEL`'),
    until: z.number().nullable().describe('When each process has its own level again'),
  })
  .meta({ id: 'LogLevel', example: { level: 'debug', until: 1_795_255_200 } });
export type LogLevelView = z.infer<typeof logLevelView>;

/** Body of `PUT /admin/log-level`. */
export const logLevelBody = z
  .strictObject({
    level: z.enum(LOG_LEVELS).describe('Level of all processes; `silent` writes nothing'),
    for_seconds: z
      .int()
      .min(1)
      .max(LONGEST_SECONDS)
      .default(DEFAULT_SECONDS)
      .describe('How long the level holds'),
  })
  .meta({ id: 'LogLevelChange', example: { level: 'debug', for_seconds: 600 } });
export type LogLevelBody = z.infer<typeof logLevelBody>;
