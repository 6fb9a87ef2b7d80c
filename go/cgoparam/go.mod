// A module of its own, so that a replace directive can put it in the place of github.com/CannibalVox/cgoparam.
module toft.dev/toft/cgoparam

go 1.24.0

require toft.dev/toft v0.1.0

replace toft.dev/toft => ../
