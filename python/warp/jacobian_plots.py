"""Pictures of Jacobians, by matplotlib."""

import numpy as np

from warp import types


def _components(metadata, index):
    """How many numbers an element of an input has."""
    if index >= len(metadata.input_labels) or metadata.input_labels[index] is None:
        raise ValueError(f"Jacobian input index {index}: missing label")
    dtype = metadata.input_dtypes[index] if index < len(metadata.input_dtypes) else None
    if dtype is None:
        raise ValueError(f"Jacobian input index {index}: missing array dtype")
    if types.is_generic(dtype):
        raise ValueError(f"Jacobian input index {index}: the component count of a generic type is not known")
    return types.type_of(dtype).part_count if types.type_of(dtype).kind != "scalar" else 1


def _flat(numbers):
    numbers = numbers if isinstance(numbers, np.ndarray) else numbers.numpy()
    return numbers.reshape(numbers.shape[0], -1)


def plot(
    jacobians,
    metadata,
    show_plot=True,
    show_colorbar=True,
    scale_colors_per_submatrix=False,
    title=None,
    colormap="coolwarm",
    log_scale=False,
):
    """A picture for each Jacobian: a row of pictures for an output, a column for an input."""
    for i, o in jacobians:
        _components(metadata, i)
        if o >= len(metadata.output_labels) or metadata.output_labels[o] is None:
            raise ValueError(f"Jacobian output index {o}: missing label")
    if not jacobians:
        return None

    import matplotlib.pyplot as plt
    from matplotlib.colors import Normalize, SymLogNorm

    inputs, outputs = sorted({i for i, _ in jacobians}), sorted({o for _, o in jacobians})
    pictures = {pair: _flat(numbers) for pair, numbers in jacobians.items()}
    widths = [next(p.shape[1] for (i, _), p in pictures.items() if i == wanted) for wanted in inputs]
    heights = [next(p.shape[0] for (_, o), p in pictures.items() if o == wanted) for wanted in outputs]

    def colors(shown):
        largest = max((np.nanmax(np.abs(p), initial=0) for p in shown), default=0) or 1.0
        smallest = 0.0 if all(np.nanmin(p, initial=0) >= 0 for p in shown) else -largest
        if log_scale:
            return SymLogNorm(largest * 1e-6, vmin=smallest, vmax=largest)
        return Normalize(smallest, largest)

    figure, axes = plt.subplots(
        len(outputs),
        len(inputs),
        squeeze=False,
        layout="constrained",
        gridspec_kw={"width_ratios": widths, "height_ratios": heights},
    )
    figure.suptitle(title or f"{metadata.key or 'unknown'} kernel Jacobian")
    shared, image = colors(pictures.values()), None
    for row, o in enumerate(outputs):
        for column, i in enumerate(inputs):
            axis = axes[row][column]
            if (i, o) not in pictures:
                axis.axis("off")
                continue
            picture = pictures[i, o]
            norm = colors([picture]) if scale_colors_per_submatrix else shared
            image = axis.imshow(picture, cmap=colormap, norm=norm, aspect="auto", interpolation="none")
            axis.set_xlabel(metadata.input_labels[i])
            axis.set_ylabel(metadata.output_labels[o])
            if show_colorbar and scale_colors_per_submatrix:
                figure.colorbar(image, ax=axis)
    if show_colorbar and not scale_colors_per_submatrix:
        figure.colorbar(image, ax=list(axes.flat))
    if show_plot:
        plt.show()
    return figure
