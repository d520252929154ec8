/// TIFF and BigTIFF: the first page is read, with 1 to 16 bits a sample.
struct TIFFCodec: StructuredCodec {
    typealias Structure = TIFFStructure

    var format: ImageFormat { .tiff }
    var library: CodecLibrary? { LoadedLibrary.tiff.described }

    /// Either byte order, TIFF (42) or BigTIFF (43).
    func matches(_ head: UnsafeRawBufferPointer) -> Bool {
        head.holds("II*\0", at: 0) || head.holds("MM\0*", at: 0) || head.holds("II+\0", at: 0)
            || head.holds("MM\0+", at: 0)
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions], each change: FrameChange?
    ) throws(ImagingError) -> [Image] {
        try TIFFDecoder(bytes, requests[0].limits).decode(requests).finished(requests, each: change)
    }

    func check(_ bytes: UnsafeRawBufferPointer, limits: DecodeLimits) throws(ImagingError) -> [ImageWarning] {
        try TIFFDecoder(bytes, limits).check()
    }

    func passes(_ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions]) throws(ImagingError) -> [[Int]] {
        [Array(requests.indices)]
    }
}
