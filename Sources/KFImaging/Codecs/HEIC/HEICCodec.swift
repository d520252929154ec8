/// HEIC and HEIF: the primary picture is read, with 8 to 16 bits a sample.
struct HEICCodec: StructuredCodec {
    typealias Structure = HEICStructure

    var format: ImageFormat { .heic }
    var library: CodecLibrary? { LoadedLibrary.heic.described }

    /// An AVIF file may state HEIC's general brands too, so that AVIF is tried first.
    func matches(_ head: UnsafeRawBufferPointer) -> Bool {
        head.hasISOBrand(["heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"])
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions], each change: FrameChange?
    ) throws(ImagingError) -> [Image] {
        try HEICDecoder(bytes, requests[0].limits).decode(requests).finished(requests, each: change)
    }

    func check(_ bytes: UnsafeRawBufferPointer, limits: DecodeLimits) throws(ImagingError) -> [ImageWarning] {
        try HEICDecoder(bytes, limits).check()
        return []
    }

    func decoderBytes(_ info: ImageInfo) -> Double {
        Double(info.width) * Double(info.height) * (info.bitDepth > 8 ? 2 : 1) * (info.hasAlpha ? 4 : 3)
    }

    func passes(_ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions]) throws(ImagingError) -> [[Int]] {
        [Array(requests.indices)]
    }
}
