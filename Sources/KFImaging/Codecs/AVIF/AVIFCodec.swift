/// AVIF: read and written, still and animated, with 8, 10 or 12 bits a sample.
struct AVIFCodec: StructuredCodec {
    typealias Structure = AVIFStructure

    var format: ImageFormat { .avif }
    var supportsAnimation: Bool { true }
    var isEncodable: Bool { true }
    var library: CodecLibrary? { LoadedLibrary.avif.described }

    func matches(_ head: UnsafeRawBufferPointer) -> Bool { head.hasISOBrand(["avif", "avis"]) }

    func decode(
        _ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions], each change: FrameChange?
    ) throws(ImagingError) -> [Image] {
        try AVIFDecoder(bytes, requests[0]).decode(requests, each: change)
    }

    func check(_ bytes: UnsafeRawBufferPointer, limits: DecodeLimits) throws(ImagingError) -> [ImageWarning] {
        try AVIFDecoder(bytes, DecodeOptions(limits: limits)).check()
        return []
    }

    /// dav1d holds the whole picture, at most with full chroma and alpha.
    func decoderBytes(_ info: ImageInfo) -> Double {
        Double(info.width) * Double(info.height) * (info.bitDepth > 8 ? 2 : 1) * (info.hasAlpha ? 3 : 2)
    }

    func passes(_ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions]) throws(ImagingError) -> [[Int]] {
        let frames = requests.allSatisfy(\.firstFrameOnly) ? 1 : try AVIFStructure(bytes).frames
        return frames == 1 ? [Array(requests.indices)] : requests.indices.map { [$0] }
    }

    func encode(_ image: Image, options: EncodeOptions) throws(ImagingError) -> [UInt8] {
        try AVIFEncoder.encode(image, options: options)
    }
}
