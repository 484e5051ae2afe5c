import { PinoLogger } from 'nestjs-pino';
import type { LogLevelName } from '../base/log-level.ts';

/** Whether lines of this level are written now. Ask before work that only such a line needs. */
export function isLogged(level: LogLevelName): boolean {
  // There is no logger yet while the application starts, and none in unit tests.
  return (PinoLogger.root as typeof PinoLogger.root | undefined)?.isLevelEnabled(level) ?? false;
}

/** Sets the level of this process. */
export function setLevel(level: LogLevelName): void {
  PinoLogger.root.level = level;
}
