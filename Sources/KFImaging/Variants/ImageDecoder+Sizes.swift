extension ImageDecoder {
    /// Which of the sizes one pass over the bytes can give together: places in `sizes`, in groups. Formats that cannot
    /// share a pass have groups of one.
    package static func passes(
        over bytes: UnsafeRawBufferPointer, options: DecodeOptions, sizes: [PixelSize]
    ) throws(ImagingError) -> [[Int]] {
        switch try ImageProbe.decodableFormat(bytes) {
        case .jpeg:
            let structure = try JPEGStructure(header: bytes)
            var groups: [Int: [Int]] = [:]
            for (index, size) in sizes.enumerated() {
                let numerator = try JPEGDecoder.numerator(structure, options.sized(size))
                groups[numerator, default: []].append(index)
            }
            return groups.sorted { $0.key > $1.key }.map(\.value)
        case .png:
            return [Array(sizes.indices)]
        default:
            return sizes.indices.map { [$0] }
        }
    }

    /// The image at several sizes, in one pass over its bytes: a group of `passes`. Each result is what `decode` gives
    /// for that size alone.
    package static func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, sizes: [PixelSize]
    ) throws(ImagingError) -> [Image] {
        try Allowance.within(options.limits, fileBytes: bytes.count) { () throws(ImagingError) in
            try decodeWithin(bytes, options, sizes)
        }
    }

    private static func decodeWithin(
        _ bytes: UnsafeRawBufferPointer, _ options: DecodeOptions, _ sizes: [PixelSize]
    ) throws(ImagingError) -> [Image] {
        let images: [Image]
        switch try ImageProbe.decodableFormat(bytes) {
        case .jpeg where sizes.count > 1: images = try JPEGDecoder.decode(bytes, options: options, sizes: sizes)
        case .png where sizes.count > 1: images = try PNGDecoder.decode(bytes, options: options, sizes: sizes)
        default:
            var decoded: [Image] = []
            for size in sizes { decoded.append(try decode(bytes, options: options.sized(size))) }
            return decoded
        }
        guard options.convertsToSRGB else { return images }
        var converted: [Image] = []
        for image in images { converted.append(try image.convertedToSRGB()) }
        return converted
    }
}

extension DecodeOptions {
    func sized(_ size: PixelSize) -> DecodeOptions {
        var options = self
        options.exactSize = size
        return options
    }
}
