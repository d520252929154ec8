/// JPEG: read and written. The format has no alpha and no animation.
struct JPEGCodec: PassCodec {
    var format: ImageFormat { .jpeg }
    var fileExtension: String { "jpg" }
    var supportsAlpha: Bool { false }
    var isEncodable: Bool { true }
    var library: CodecLibrary? { .jpeg }

    func matches(_ head: UnsafeRawBufferPointer) -> Bool {
        head.bigEndian16(at: 0) == 0xFFD8 && head.count > 2 && head[2] == 0xFF
    }

    func probe(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> ImageInfo {
        try JPEGStructure(header: bytes).info
    }

    func inspect(
        _ bytes: UnsafeRawBufferPointer, limits: DecodeLimits, passage: ReadPassage
    ) throws(ImagingError) -> (info: ImageInfo, warnings: [ImageWarning]) {
        var walk = JPEGMarkerWalk(bytes, passage: passage)
        let info = try JPEGStructure(&walk).info
        try limits.check(info)
        try walk.finish()
        return (info, walk.hasImpossibleLength ? [.impossibleSegmentLength] : [])
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions], each change: FrameChange?
    ) throws(ImagingError) -> [Image] {
        try JPEGDecoder(bytes, requests[0].limits).decode(requests).finished(requests, each: change)
    }

    func check(_ bytes: UnsafeRawBufferPointer, limits: DecodeLimits) throws(ImagingError) -> [ImageWarning] {
        try JPEGDecoder(bytes, limits).check()
    }

    /// Sizes that libjpeg decodes at the same scale share a pass.
    func passes(_ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions]) throws(ImagingError) -> [[Int]] {
        let structure = try JPEGStructure(header: bytes)
        var groups: [Int: [Int]] = [:]
        // The scale is that of the first decode. A picture with much fine detail is decoded again at a larger one.
        for (index, options) in requests.enumerated() {
            let plan = try structure.plan(options)
            groups[JPEGScale.numerator(source: plan.source, minimum: plan.minimum), default: []].append(index)
        }
        return groups.sorted { $0.key > $1.key }.map(\.value)
    }
}
