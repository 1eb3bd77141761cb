"""What `wp.texture_sample` is made of: its derivatives by the coordinates and the level of detail."""

GROUP = "Textures"


def _texture_sample(tex: Any, at: vec3f, lod: float32, channels: int32) -> vec4f:
    return _texture_values(tex, at, lod, channels)


# From single texels: on GPUs the values come of the hardware's weights, whose steps have no slope.
@func_grad(_texture_sample)
def adj_texture_sample(tex: Any, at: vec3f, lod: float32, channels: int32, g: vec4f):
    slopes = _texture_slopes(tex, at, lod, channels, g)
    adjoint[at] += vec3f(slopes[0], slopes[1], slopes[2])
    adjoint[lod] += slopes[3]
