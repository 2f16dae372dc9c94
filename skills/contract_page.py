"""docs/skill_contract.md, in English and Russian, out of the code: a field without a text stops it."""

import inspect
from collections.abc import Iterator
from itertools import product

from chimera.core.capabilities import CAPABILITIES
from skills.contract import ALWAYS_RETRIED, CostClass, RiskLevel, Skill, SkillMetadata, SkillResult
from skills.policy import Verdict, decide

_FIELDS = {
    "version": (
        "MAJOR.MINOR; another major is another contract",
        "MAJOR.MINOR; другая major-версия — другой контракт",
    ),
    "risk_level": ("How much harm a mistake does", "Какой вред принесёт ошибка"),
    "cost_class": ("What a call costs", "Сколько стоит вызов"),
    "side_effects": (
        "Changes state outside; reading the network is none",
        "Меняет внешнее состояние; чтение сети — нет",
    ),
    "idempotent": (
        "The same input causes the effect once",
        "Один и тот же вход вызывает эффект один раз",
    ),
    "capabilities": ("Resources it uses", "Какие ресурсы использует"),
    "requires_gpu": ("Needs a graphics processor", "Нужен графический процессор"),
    "timeout_sec": ("Limit of one attempt in seconds", "Предел одной попытки в секундах"),
}
_CLASS = {
    "name": ("What callers write; default: the folder without `skill_`",
        "Имя для вызова; по умолчанию — папка без `skill_`"),
    "input_model": ('Pydantic model of the input, with `extra="forbid"` and a description of every field',
        'Модель входа (Pydantic), с `extra="forbid"` и описанием каждого поля'),
    "output_model": ("Pydantic model of the output; what breaks it is INTERNAL_ERROR that names the field",
        "Модель выхода (Pydantic); нарушение — INTERNAL_ERROR с именем поля"),
    "metadata": ("See below", "См. ниже"),
    "compatible_versions": ("Earlier minor versions that it answers to, such as `1.0` of a `1.1`",
        "Прежние minor-версии, на которые он отвечает: `1.0` у версии `1.1`"),
    "deprecated_since": ("The day from which callers are told to move on (versions.md)",
        "День, с которого вызывающим советуют новую версию (versions.md)"),
    "sunset": ("The day from which a call is VERSION_GONE, at least 30 days later",
        "День, с которого вызов — VERSION_GONE, не раньше чем через 30 дней"),
    "roles": ("Roles of `agents.roles.Role` that may call it; default: all six",
        "Роли из `agents.roles.Role`, которым можно его вызывать; по умолчанию все шесть"),
    "retry": ("`Retry(2, frozenset({...}))`: retries after the first attempt, and retryable codes beside those that "
        "always allow one: {retried}; default: 2 retries, no further code",
        "`Retry(2, frozenset({...}))`: число повторов после первой попытки и повторяемые коды сверх тех, что "
        "повторяются всегда: {retried}; по умолчанию 2 повтора без других кодов"),
    "cache_seconds": ("How long the same input gets the earlier output; default 0: never",
        "Сколько секунд тот же вход получает прежний выход; по умолчанию 0 — никогда"),
    "stale_codes": ("Codes on which an output of the last day is given, with the warning STALE_CACHE",
        "Коды, при которых отдаётся выход последних суток с предупреждением STALE_CACHE"),
    "timeout_code": ("The code when `timeout_sec` is over; default TIMEOUT",
        "Код по истечении `timeout_sec`; по умолчанию TIMEOUT"),
    "error_codes": ("Codes that `execute` raises, out of `chimera.core.errors.CODES`; the catalogue shows them",
        "Коды из `chimera.core.errors.CODES`, которые бросает `execute`; видны в каталоге"),
    "escalate_codes": ("Codes of a final failure that a person must hear of",
        "Коды окончательной ошибки, о которой должен узнать человек"),
    "field_codes": ("Another code than INVALID_INPUT for a wrong field: `{field: code}`",
        "Другой код вместо INVALID_INPUT для неверного поля: `{поле: код}`"),
    "secret_field": ("The input field that is kept out of records",
        "Поле входа, которое не попадает в записи"),
    "queue": ("The Celery queue; default `default`", "Очередь Celery; по умолчанию `default`"),
    "requires_approval": ("Set by `GatedSkill`", "Устанавливает `GatedSkill`"),
}  # fmt: skip
"""What a subclass of Skill may set. {retried}: the codes that always allow a retry."""
_CONTEXT = (
    ("`ctx.params`", "the input, an instance of `input_model`", "вход, экземпляр `input_model`"),
    ("`ctx.caller`",
        "the calling agent; needs `DB`",
        "вызывающий агент; нужен `DB`"),
    ("`ctx.mcp`", "the client of MCP servers; needs `MCP`", "клиент серверов MCP; нужен `MCP`"),
    ("`ctx.now()`, `ctx.seconds_left(limit)`, `ctx.attempt`",
        "the time, what remains until the deadline, which attempt this is",
        "время, остаток до срока, номер попытки"),
    ("`ctx.warn(code)`, `ctx.log`",
        "a warning on the record; the log of the worker",
        "предупреждение в записи; журнал воркера"),
    ("`ctx.progress(fraction, message, state)`, `ctx.resumed`",
        "how far a long job is; the state to go on from after a kill",
        "ход долгой работы; состояние, с которого продолжить после сбоя"),
    ("`ctx.folder()`", "where files go; needs `IO`", "папка для файлов; нужен `IO`"),
)  # fmt: skip
EXAMPLE = '''"""Say how many agents have a role."""

from asgiref.sync import sync_to_async
from pydantic import BaseModel, ConfigDict, Field

from agents.models import Agent
from agents.roles import Role
from skills.contract import (
    CostClass,
    RiskLevel,
    Skill,
    SkillContext,
    SkillError,
    SkillMetadata,
    SkillResult,
)


class Input(BaseModel):
    model_config = ConfigDict(extra="forbid")
    role: Role = Field(description="The role")


class Output(BaseModel):
    agents: int


class CountAgents(Skill):
    """Reads the database, so it declares DB."""

    input_model, output_model = Input, Output
    metadata = SkillMetadata(
        risk_level=RiskLevel.LOW,
        cost_class=CostClass.CHEAP,
        side_effects=False,
        idempotent=True,
        capabilities=frozenset({"DB"}),
        timeout_sec=2,
    )
    roles = frozenset({Role.ORCHESTRATOR})
    error_codes = ("AGENT_NOT_FOUND",)

    async def execute(self, ctx: SkillContext[Input]) -> SkillResult:
        found = await sync_to_async(Agent.objects.filter(type=ctx.params.role).count)()
        if not found:
            raise SkillError("AGENT_NOT_FOUND", f"No agent is a {ctx.params.role}")
        return SkillResult(output=Output(agents=found), output_text=f"{found} agents")
'''
"""A skill.py with all its imports."""
_RESULT = {
    "output": ("Machine-readable data that fits `output_model`", "Данные по схеме `output_model`"),
    "output_text": ("A line for people and models", "Строка для людей и моделей"),
    "status": ("How it ended", "Чем закончилось"),
    "artifacts": (
        "Absolute paths of files in `ctx.folder()`; checked, hashed, offered for download",
        "Абсолютные пути файлов из `ctx.folder()`; проверяются, хешируются, доступны для загрузки",
    ),
}
_KINDS = (
    (
        "pure",
        "чистый",
        "normalize_handle, text_analysis",
        "no effects, runs anywhere",
        "без эффектов, работает где угодно",
    ),
    (
        "job-based",
        "долгий",
        "backtest_policy",
        "works in chunks, tells `ctx.progress`, goes on after a kill",
        "работает частями, сообщает `ctx.progress`, продолжает после сбоя",
    ),
    (
        "remote",
        "удалённый",
        "deep_research",
        "checks its connection in `__init__`, which runs for a call alone",
        "проверяет связь в `__init__`, который выполняется только для вызова",
    ),
    (
        "artifact-producing",
        "создающий файлы",
        "generate_report",
        "puts files into `ctx.folder()`, which needs IO",
        "кладёт файлы в `ctx.folder()`, для этого нужен IO",
    ),
)
_ERRORS = (
    (
        '`raise SkillError("CODE", "message")` with a code of `error_codes`',
        "ends or retries the call as the code says",
        '`raise SkillError("КОД", "текст")` с кодом из `error_codes`',
        "завершает или повторяет вызов, как велит код",
    ),
    (
        "validation: `ValueError`, INVALID_INPUT",
        "fails at once",
        "валидация: `ValueError`, INVALID_INPUT",
        "ошибка сразу",
    ),
    (
        "runtime: a retryable code of the skill",
        "tried again within the deadline",
        "временная: повторяемый код скилла",
        "повтор до срока",
    ),
    (
        "critical: any other exception, INTERNAL_ERROR",
        "never tried again",
        "критическая: любое другое исключение, INTERNAL_ERROR",
        "без повтора",
    ),
    (
        "security: SECURITY_VIOLATION",
        "blocked at once and audited",
        "безопасность: SECURITY_VIOLATION",
        "блокируется сразу, запись в аудит",
    ),
)


_ANSWERS = {
    Verdict.ALLOW: ("runs", "выполняется"),
    Verdict.ASK: ("a person is asked", "спрашивают человека"),
}


def _policy() -> Iterator[tuple[str, Verdict]]:
    """Every combination of risk and effects with its answer, out of the table itself."""
    for risk, effects, once in product(RiskLevel, (False, True), (True, False)):
        facts = SkillMetadata(
            risk_level=risk,
            cost_class=CostClass.CHEAP,
            side_effects=effects,
            idempotent=once,
            timeout_sec=1,
        )
        shown = f"`{risk}`, side_effects {str(effects).lower()}, idempotent {str(once).lower()}"
        yield shown, decide(facts)


def page() -> str:
    """The whole document."""
    signature = f"async def execute(self, ctx) -> {inspect.signature(Skill.execute).return_annotation.__name__}"
    return "\n".join([*_part(0, signature), "---", "", *_part(1, signature)])


def _part(language: int, signature: str) -> list[str]:
    """The document in English (0) or Russian (1)."""
    say = _TEXTS[language]
    fields = [f"| `{name}` | {_FIELDS[name][language]} |" for name in SkillMetadata.model_fields]
    retried = ", ".join(sorted(ALWAYS_RETRIED))
    own = [
        f"| `{name}` | {_CLASS[name][language].replace('{retried}', retried)} |"
        for name in Skill.__annotations__
    ]
    context = [f"| {row[0]} | {row[1 + language]} |" for row in _CONTEXT]
    result = [f"| `{name}` | {_RESULT[name][language]} |" for name in SkillResult.model_fields]
    kinds = [f"- **{kind[language]}** ({kind[2]}): {kind[3 + language]}" for kind in _KINDS]
    errors = [f"- {error[2 * language]}: {error[2 * language + 1]}" for error in _ERRORS]
    policy = [f"| {risk} | {_ANSWERS[answer][language]} |" for risk, answer in _policy()]
    values = ", ".join([*RiskLevel, *CostClass])
    return [
        f"# {say[0]}", "", say[1], "", "```python", signature, "```", "",
        say[13], "", "```python", EXAMPLE.rstrip(), "```", "",
        f"## {say[14]}", "| | |", "|---|---|", *own, "",
        f"## {say[15]}", "| | |", "|---|---|", *context, "",
        f"## {say[2]}", "| | |", "|---|---|", *fields, "",
        f"{say[3]}: {values}. {say[4]}: {', '.join(sorted(CAPABILITIES))}.", "",
        f"## {say[5]}", "| | |", "|---|---|", *result, "",
        f"## {say[6]}", *kinds, "", f"## {say[7]}", *errors, "",
        f"## {say[8]}", say[9], "", "| | |", "|---|---|", *policy, "", say[10], "",
        f"## {say[11]}", say[12], "",
    ]  # fmt: skip


_TEXTS = (
    ("Skill contract",
     "A skill is a subclass of `Skill` (alias `BaseSkill`) with `input_model`, `output_model` (Pydantic) and "
     "`metadata`. It sees its context alone. `.venv/bin/python manage.py new_skill NAME` makes one.",
     "Metadata", "Levels and classes", "Capabilities", "Result", "Kinds", "Errors", "Approval",
     "Decided from the metadata by the worker that holds the call, before the skill runs.",
     "An `expensive` call asks as well once the agent has begun CHIMERA_EXPENSIVE_CALLS_PER_DAY of them "
     "in a day (UTC); calls are counted, because not every model has a known price. A `GatedSkill` asks by "
     "itself, for exactly what it will do. CHIMERA_APPROVAL_RULES names a file such as "
     '`{"mcp_tool": "ask", "deep_research": "deny"}`. A rule makes the answer stricter; `allow` counts only '
     "for a medium risk and is refused for a high one. Rules that cannot be used deny every call, and "
     "`manage.py check` says why.",
     "What a skill may use",
     "The product's own clients ask before they reach outside: HTTP needs `NET`, MCP servers `MCP`, language "
     "models `LLM`, chains `CHAIN`, the database `DB`, `ctx.folder()` `IO`. What was not declared is "
     "SECURITY_VIOLATION, even where the skill catches it. `requires_gpu` (with `GPU`) sends calls to the "
     "queue `gpu`; a worker started with `-Q gpu` announces itself in the shared cache every 15 s, and "
     "without one a call is 503 RESOURCE_UNAVAILABLE.",
     "The first paragraph of the docstring of `skill.py` is its description. It may import Django's models and "
     "other product code, but no other skill, no request, no Celery and no HTTP library. `execute` is async: the "
     "ORM needs the capability `DB` and goes through `sync_to_async`. A whole one:",
     "The class", "The context"),
    ("Контракт скилла",
     "Скилл — подкласс `Skill` (он же `BaseSkill`) с `input_model`, `output_model` (Pydantic) и `metadata`. "
     "Он видит только свой контекст. `.venv/bin/python manage.py new_skill NAME` создаёт новый.",
     "Метаданные", "Уровни и классы", "Возможности", "Результат", "Виды", "Ошибки", "Одобрение",
     "Решает по метаданным воркер, который держит вызов, до запуска скилла.",
     "Вызов класса `expensive` тоже требует ответа человека, когда агент начал за день (UTC) "
     "CHIMERA_EXPENSIVE_CALLS_PER_DAY таких вызовов; считаются вызовы, потому что цена известна не у каждой "
     "модели. `GatedSkill` спрашивает сам, ровно о том, что сделает. CHIMERA_APPROVAL_RULES — файл вида "
     '`{"mcp_tool": "ask", "deep_research": "deny"}`. Правило только ужесточает; `allow` действует лишь при '
     "среднем риске и отклоняется при высоком. Если правила нельзя применить, отклоняется каждый вызов; "
     "`manage.py check` говорит почему.",
     "Что скиллу доступно",
     "Клиенты продукта спрашивают разрешение сами: HTTP требует `NET`, серверы MCP — `MCP`, языковые модели — "
     "`LLM`, блокчейны — `CHAIN`, база данных — `DB`, `ctx.folder()` — `IO`. Необъявленное — "
     "SECURITY_VIOLATION, даже если скилл перехватил ошибку. `requires_gpu` (вместе с `GPU`) направляет "
     "вызовы в очередь `gpu`; воркер с `-Q gpu` объявляет себя в общем кэше каждые 15 с, без него — 503 "
     "RESOURCE_UNAVAILABLE.",
     "Первый абзац docstring файла `skill.py` — описание скилла. Он может импортировать модели Django и другой "
     "код продукта, но не другой скилл, не запросы, не Celery и не библиотеки HTTP. `execute` асинхронный: ORM "
     "требует возможности `DB` и вызывается через `sync_to_async`. Целый пример:",
     "Класс", "Контекст"),
)  # fmt: skip
