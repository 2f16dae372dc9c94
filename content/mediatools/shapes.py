"""What a media tool is asked for; the same in the sandbox world and before the real providers."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class PictureOrder(BaseModel):
    """Draw pictures for a prompt."""

    model_config = ConfigDict(extra="forbid")

    prompt: str = Field(min_length=1, max_length=2000)
    aspect_ratio: Literal["1:1", "4:5", "16:9", "9:16", "3:2"] = "1:1"
    count: int = Field(default=1, ge=1, le=4)


class ClipOrder(BaseModel):
    """Draw a short clip for a prompt."""

    model_config = ConfigDict(extra="forbid")

    prompt: str = Field(min_length=1, max_length=2000)
    duration_sec: int = Field(default=5, ge=1, le=60)
    ratio: Literal["9:16", "16:9", "1:1"] = "9:16"
