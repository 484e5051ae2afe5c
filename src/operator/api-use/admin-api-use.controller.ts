import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { wireView } from '../../platform/wire/wire-view.ts';
import { OperatorAccess } from '../access/operator-access.decorators.ts';
import { type ApiUseQuery, apiUseQuery, apiUseView } from './admin-api-use.schema.ts';
import { OperatorApiUse } from './operator-api-use.ts';

@ApiTags('capacity')
@OperatorAccess('read')
@Controller('admin/api-use')
export class AdminApiUseController {
  constructor(private readonly use: OperatorApiUse) {}

  @Get()
  @Endpoint({
    summary: 'Read what applications use of the APIs of Google and Microsoft',
    description:
      'In the units that the company counts, with a forecast to the end of the month. Processes store their counts every ten seconds.',
    response: apiUseView,
  })
  async read(@Query({ schema: apiUseQuery }) { application }: ApiUseQuery) {
    return wireView(await this.use.list(application));
  }
}
