import { Body, Controller, Param, Put } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../../platform/audit/actor.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { wireView } from '../../platform/wire/wire-view.ts';
import { CurrentActor, OperatorAccess } from '../access/operator-access.decorators.ts';
import { type CeilingBody, ceilingBody, ceilingView } from './admin-api-use.schema.ts';
import { OperatorCeilings } from './operator-ceilings.ts';

@ApiTags('capacity')
@OperatorAccess('operate')
@Controller('admin/applications')
export class AdminCeilingsController {
  constructor(private readonly ceilings: OperatorCeilings) {}

  @Put(':id/ceilings')
  @ApiErrors(404)
  @Endpoint({
    summary: 'Set what an application may use of an API of Google or Microsoft',
    description:
      '`{id}` is the id or the client id of the application. All processes follow the ceiling within ten seconds.',
    response: ceilingView,
  })
  async set(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Body({ schema: ceilingBody }) { api, units }: CeilingBody,
  ) {
    return wireView(await this.ceilings.set(actor, id, api, units));
  }
}
