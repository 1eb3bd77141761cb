# Weft in the vendor's container for MetaX GPUs (MACA). From the root of the source:
#
#   docker build -f docker/maca.Dockerfile -t weft-maca .
#   docker run --rm -it --device=/dev/mxcd --device=/dev/dri --group-add video weft-maca python -m warp info
#
# docs/maca.md has the whole story. The base image comes from the vendor; it was not at hand when this was written.
ARG BASE=cr.metax-tech.com/public-library/maca-pytorch:3.8.1.2-torch2.8-py312-ubuntu24.04-amd64
FROM ${BASE}

ENV MACA_PATH=/opt/maca
ENV CUCC_PATH=${MACA_PATH}/tools/cu-bridge \
    MACA_CLANG_PATH=${MACA_PATH}/mxgpu_llvm/bin \
    MACA_DIRECT_DISPATCH=1 \
    WEFT_MACA_AS_CUDA=1
ENV CUDA_PATH=${CUCC_PATH} \
    PATH=${MACA_PATH}/bin:${CUCC_PATH}/bin:${CUCC_PATH}/tools:${MACA_CLANG_PATH}:${PATH} \
    LD_LIBRARY_PATH=${MACA_PATH}/lib:${MACA_PATH}/mxgpu_llvm/lib:${MACA_PATH}/ompi/lib:${CUCC_PATH}/lib:${LD_LIBRARY_PATH}

COPY . /opt/weft
WORKDIR /opt/weft
# setup.sh installs what tools/system-packages.txt lists for this system. PyTorch stays the vendor's: nothing here depends on it.
RUN tools/setup.sh python && python build_lib.py --no_libmathdx && python -m pip install --no-cache-dir -e .

WORKDIR /work
CMD ["python"]
