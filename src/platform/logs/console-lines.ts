import { format } from 'node:util';
import { Logger } from '../nest/light.ts';

/**
 * Sends warnings and errors that libraries write to the console to the log instead, so that every
 * line of a server's output is a line of the log. The scheduler, for example, warns there about
 * late ticks.
 */
export function logConsole(): void {
  const log = new Logger('Console');
  console.warn = (...words: unknown[]) => log.warn(format(...words));
  console.error = (...words: unknown[]) => log.error(format(...words));
}
