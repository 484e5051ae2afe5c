import { Get, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import { ACTOR_KINDS } from '../../platform/audit/actor.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { isId } from '../../platform/base/ids/ids.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { AuditLogService } from '../audit/audit-log.service.ts';
import { ConsolePages } from './console-page.decorator.ts';
import { sendPage } from './console-response.ts';
import type { FilterValues } from './kit/filters.ts';
import { AUDIT_FILTERS, auditPage } from './pages/audit.page.ts';
import { choiceIn, type Fields, filterIn, positionIn } from './queries.ts';

/** @throws {InvalidInputError} if a filter that takes an id has something else */
function idIn(values: FilterValues, name: 'application' | 'account'): string | undefined {
  const id = values[name];
  if (id !== undefined && !isId(id))
    throw new InvalidInputError(`${name}: enter its whole id, such as the address of its page has`);
  return id;
}

/** Who did what, over all applications. */
@ConsolePages('audit')
export class ConsoleAuditController {
  constructor(
    private readonly log: AuditLogService,
    private readonly clock: Clock,
  ) {}

  @Get()
  async list(@Query() query: Fields, @Res() response: Response): Promise<void> {
    const values = filterIn(query, AUDIT_FILTERS);
    const position = positionIn(query);
    const { action, target, actor } = values;
    const filter = {
      action,
      target,
      actor,
      actorKind: choiceIn(values, 'actor_kind', ACTOR_KINDS),
      applicationId: idIn(values, 'application'),
      accountId: idIn(values, 'account'),
    };
    const [list, total] = await Promise.all([
      this.log.list(filter, position),
      this.log.count(filter),
    ]);
    const page = { ...list, ...position, total };
    sendPage(response, auditPage(page, values, this.clock.now()));
  }
}
