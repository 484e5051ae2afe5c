import type { INestApplicationContext } from '@nestjs/common';
import { OperatorLinksService } from '../../operator/access/operator-links.service.ts';
import { OperatorsService } from '../../operator/access/operators.service.ts';
import { SYSTEM } from '../../platform/audit/actor.ts';

/** The operator of a local server, who signs in by the link in the terminal. */
const NAME = 'local';

/**
 * Creates a link that signs in to the console, once and within an hour. On a server without
 * operators it creates the operator `local` first.
 * @returns `null` if the server has operators, but none named `local` who may sign in: they sign
 *   in themselves
 */
export async function createConsoleLink(app: INestApplicationContext): Promise<string | null> {
  const operators = app.get(OperatorsService);
  const all = await operators.list();
  if (all.length === 0)
    await operators.create(SYSTEM, { name: NAME, role: 'operate', password: null });
  else if (!all.some(({ name, disabledAt }) => name === NAME && disabledAt === null)) return null;
  return (await app.get(OperatorLinksService).create(SYSTEM, NAME)).url;
}
