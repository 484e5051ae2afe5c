import { Body, Get, Param, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import type { Actor } from '../../../platform/audit/actor.ts';
import { CurrentActor, OperatorAccess } from '../../access/operator-access.decorators.ts';
import { OperatorApiUse } from '../../api-use/operator-api-use.ts';
import { OperatorCeilings } from '../../api-use/operator-ceilings.ts';
import { OperatorApplications } from '../../applications/operator-applications.ts';
import { ConsolePages } from '../console-page.decorator.ts';
import { sendPage, viewerOf } from '../console-response.ts';
import { noticePath } from '../notices.ts';
import { actionPage } from '../pages/action.page.ts';
import { applicationPath, APPLICATIONS_PATH } from '../pages/applications.page.ts';
import { ceilingFields, ceilingPath, ceilingsTable } from '../pages/ceilings.ts';
import { type Fields, textIn } from '../queries.ts';

/**
 * The ceiling in a form; `null` for the empty text, which removes the ceiling. `NaN`, which
 * `OperatorCeilings` refuses, for anything else than a number, and if the field is missing.
 */
function unitsIn({ units }: Fields): number | null {
  const text = typeof units === 'string' ? units.trim() : undefined;
  if (text === '') return null;
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : Number.NaN;
}

/** What one application may use of the APIs of Google and Microsoft. */
@ConsolePages('applications')
export class ConsoleCeilingsController {
  constructor(
    private readonly applications: OperatorApplications,
    private readonly ceilings: OperatorCeilings,
    private readonly use: OperatorApiUse,
  ) {}

  @Get(':id/ceiling')
  @OperatorAccess('operate')
  async ask(@Param('id') id: string, @Res() response: Response): Promise<void> {
    const { id: applicationId, name } = await this.applications.get(id);
    const [ceilings, { items }] = await Promise.all([
      this.ceilings.list(applicationId),
      this.use.list(applicationId),
    ]);
    const path = applicationPath(applicationId);
    const page = actionPage(viewerOf(response.req), {
      section: 'applications',
      title: `Change a ceiling of ${name}?`,
      consequences:
        'From 80 % of its ceiling on, the application reads no older mail. From 90 % on, nothing is synced, and at 100 % requests that need the company are refused until the next day. Messages are still sent. All processes follow within ten seconds.',
      crumbs: [
        { path: APPLICATIONS_PATH, label: 'Applications' },
        { path, label: name },
      ],
      sample: ceilingsTable(ceilings, items),
      path: ceilingPath(path),
      fields: ceilingFields(ceilings),
      button: 'Change the ceiling',
      back: path,
    });
    sendPage(response, page);
  }

  @Post(':id/ceiling')
  @OperatorAccess('operate')
  async set(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Body() body: Fields,
    @Res() response: Response,
  ): Promise<void> {
    await this.ceilings.set(actor, id, textIn(body, 'api') ?? '', unitsIn(body));
    response.redirect(303, noticePath(applicationPath(id), 'ceiling-changed'));
  }
}
