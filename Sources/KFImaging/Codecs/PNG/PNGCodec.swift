/// PNG: read and written, with 8 or 16 bits a sample. Animations are read, and not written.
struct PNGCodec: PassCodec {
    var format: ImageFormat { .png }
    var isEncodable: Bool { true }
    var library: CodecLibrary? { .png }
    var readsAnimation: Bool { true }

    func matches(_ head: UnsafeRawBufferPointer) -> Bool { PNGStructure.isSigned(head, at: 0) }

    func probe(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> ImageInfo {
        try PNGStructure(bytes).info
    }

    func inspect(
        _ bytes: UnsafeRawBufferPointer, limits: DecodeLimits, passage: ReadPassage
    ) throws(ImagingError) -> (info: ImageInfo, warnings: [ImageWarning]) {
        let structure: PNGStructure
        do {
            structure = try PNGStructure(bytes, verifying: true, passage: passage)
        } catch {
            // A fault of the header, or a limit, comes before a wrong checksum.
            try limits.check(probe(bytes))
            throw error
        }
        let info = structure.info
        try limits.check(info)
        return (info, try structure.check(bytes))
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions], each change: FrameChange?
    ) throws(ImagingError) -> [Image] {
        let structure = try PNGStructure(whole: bytes, limits: requests[0].limits)
        guard let animation = structure.animation(firstFrameOnly: requests[0].firstFrameOnly) else {
            return try PNGDecoder.decode(bytes, structure, requests).finished(requests, each: change)
        }
        let decoder = PNGAnimationDecoder(bytes: bytes, structure: structure, animation: animation)
        return try requests.map { (options) throws(ImagingError) in try decoder.decode(options, each: change) }
    }

    func check(_ bytes: UnsafeRawBufferPointer, limits: DecodeLimits) throws(ImagingError) -> [ImageWarning] {
        let structure = try PNGStructure(whole: bytes, limits: limits)
        let animation = structure.animation(firstFrameOnly: false)
        if let animation {
            try PNGAnimationDecoder(bytes: bytes, structure: structure, animation: animation).check(limits)
        }
        // Else the default image is the first frame.
        if animation?.startsWithDefaultImage != true { try PNGDecoder.check(bytes, structure) }
        return structure.warningsOfDecoding
    }

    func passes(_ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions]) throws(ImagingError) -> [[Int]] {
        let structure = try PNGStructure(bytes)
        // All sizes of a still picture are made in one pass.
        let isStill = structure.animation(firstFrameOnly: requests.allSatisfy(\.firstFrameOnly)) == nil
        return isStill ? [Array(requests.indices)] : requests.indices.map { [$0] }
    }
}
