/// JPEG XL: read, still and animated, with 8 or 16 bits a sample.
struct JXLCodec: StructuredCodec {
    typealias Structure = JXLStructure

    var format: ImageFormat { .jxl }
    var displayName: String { "JPEG XL" }
    var readsAnimation: Bool { true }
    var library: CodecLibrary? { LoadedLibrary.jxl.described }

    /// A bare codestream, or the signature box of a container.
    func matches(_ head: UnsafeRawBufferPointer) -> Bool {
        head.bigEndian16(at: 0) == 0xFF0A
            || head.bigEndian32(at: 0) == 0x0C && head.holds("JXL ", at: 4) && head.bigEndian32(at: 8) == 0x0D0A_870A
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions], each change: FrameChange?
    ) throws(ImagingError) -> [Image] {
        try JXLDecoder(bytes, requests[0].limits).decode(requests, each: change)
    }

    func check(_ bytes: UnsafeRawBufferPointer, limits: DecodeLimits) throws(ImagingError) -> [ImageWarning] {
        try JXLDecoder(bytes, limits).check()
        return []
    }

    func decoderBytes(_ info: ImageInfo) -> Double {
        Double(info.width) * Double(info.height) * JXLDecoder.bytesPerPixel
    }

    /// A still picture is decoded once for all sizes of at least an eighth, and once for all smaller ones.
    func passes(_ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions]) throws(ImagingError) -> [[Int]] {
        let structure = try JXLStructure(bytes)
        if structure.isAnimation, !requests.allSatisfy({ $0.firstFrameOnly }) { return requests.indices.map { [$0] } }
        var (coarse, whole): ([Int], [Int]) = ([], [])
        for (index, request) in requests.enumerated() {
            if try structure.isCoarse(request) { coarse.append(index) } else { whole.append(index) }
        }
        return [coarse, whole].filter { !$0.isEmpty }
    }
}
